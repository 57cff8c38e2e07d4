import { type RefObject, useEffect, useRef } from "react";

/** For how long a card has to have stood still before a key or a click decides on it. */
const stillMs = 500;

/**
 * Says whether a card has stood where it is, from its top to the buttons at its end, for half a second: what appears or
 * moves under a finger that is already on its way is not decided by it. The card's `data-armed` says so, too.
 */
export function useArmed(card: RefObject<HTMLElement | null>): () => boolean {
  const place = useRef<{ readonly edges: readonly number[]; readonly since: number }>(undefined);
  const look = useRef<() => void>(() => undefined);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    look.current = () => {
      if (card.current === null) return;
      const { top, bottom } = card.current.getBoundingClientRect();
      const edges = [top + scrollY, bottom + scrollY];
      if (place.current?.edges.every((edge, n) => Math.abs(edge - (edges[n] ?? edge)) <= 1) === true) return;
      place.current = { edges, since: performance.now() };
      card.current.dataset["armed"] = "false";
      clearTimeout(timer);
      timer = setTimeout(() => card.current?.setAttribute("data-armed", "true"), stillMs);
    };
    look.current();
    // The page's height changes with whatever may have moved a card.
    const observer = new ResizeObserver(() => look.current());
    observer.observe(document.body);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [card]);

  return () => {
    look.current();
    return place.current !== undefined && performance.now() - place.current.since >= stillMs;
  };
}
