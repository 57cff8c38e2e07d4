import { type RefObject, useEffect, useRef } from "react";

/** For how long a card has to have stood still before a key or a click decides on it. */
const stillMs = 500;

/** What a pointer on its way does not notice. */
const stillPx = 1;

/** Looks at one card; returns what to write where it moved. */
type Look = () => (() => void) | undefined;

const looks = new Set<Look>();
let isDue = false;

/** Of hundreds of cards all are measured before anything is written: else each would have the page laid out anew. */
function lookAtAll(): void {
  isDue = false;
  for (const write of Array.from(looks, (look) => look())) write?.();
}

function lookSoon(): void {
  if (isDue) return;
  isDue = true;
  queueMicrotask(lookAtAll);
}

let sizes: ResizeObserver | undefined;

/** Looks at all cards whenever the page's size or the card's changes; returns how to stop. */
function watch(card: HTMLElement, look: Look): () => void {
  sizes ??= new ResizeObserver(lookAtAll);
  if (looks.size === 0) {
    sizes.observe(document.body);
    document.fonts.addEventListener("loadingdone", lookSoon);
  }
  looks.add(look);
  sizes.observe(card);
  // What is on it may move without that.
  const contents = new MutationObserver(lookSoon);
  contents.observe(card, { subtree: true, childList: true, characterData: true });
  lookSoon();
  return () => {
    contents.disconnect();
    sizes?.unobserve(card);
    looks.delete(look);
    if (looks.size > 0) return;
    sizes?.unobserve(document.body);
    document.fonts.removeEventListener("loadingdone", lookSoon);
  };
}

/**
 * Says whether a card, and all that is pressed on it, has stood where it is for half a second: what appears or moves under a
 * finger that is already on its way is not decided by it. The card's `data-armed` says so, too.
 */
export function useArmed(card: RefObject<HTMLElement | null>): () => boolean {
  const stood = useRef<{ readonly place: readonly number[]; readonly since: number }>(undefined);
  const look = useRef<Look>(() => undefined);

  useEffect(() => {
    const element = card.current;
    if (element === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    look.current = () => {
      const place = placeOf(element);
      if (stood.current !== undefined && isSame(stood.current.place, place)) return undefined;
      stood.current = { place, since: performance.now() };
      return () => {
        element.dataset["armed"] = "false";
        clearTimeout(timer);
        timer = setTimeout(() => element.setAttribute("data-armed", "true"), stillMs);
      };
    };
    const stop = watch(element, look.current);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [card]);

  return () => {
    look.current()?.();
    return stood.current !== undefined && performance.now() - stood.current.since >= stillMs;
  };
}

/**
 * Where a card and its buttons stand on the page, in pixels, however far it is scrolled: also those that stay at the edge of
 * a small screen, which are taken where they would stand without that.
 */
function placeOf(card: HTMLElement): readonly number[] {
  const foot = card.querySelector(":scope > .card-foot");
  const rows = foot === null ? [] : [...foot.children];
  const own = card.getBoundingClientRect();
  const buttons = [...card.querySelectorAll<HTMLElement>(":scope > .card-foot button")];
  return [
    own.top + scrollY,
    own.left + scrollX,
    own.width,
    ...(foot === null ? [] : [foot.getBoundingClientRect().top - own.top]),
    ...rows.map((row) => row.getBoundingClientRect().height),
    ...buttons.flatMap((button) => {
      const { left, top, width } = button.getBoundingClientRect();
      const row = button.parentElement?.getBoundingClientRect();
      return [left - (row?.left ?? 0), top - (row?.top ?? 0), width];
    }),
  ];
}

function isSame(before: readonly number[], now: readonly number[]): boolean {
  return before.length === now.length && before.every((at, n) => Math.abs(at - (now[n] ?? at)) <= stillPx);
}
