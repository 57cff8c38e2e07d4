import { type RefObject, useEffect, useRef, useState } from "react";
import type { RunTree } from "../api.ts";
import { type Entry, EntryNode, isAsking } from "./entry.tsx";
import { useHash } from "../parts/use-hash.ts";

/** Up to so many nodes, entries and calls, are all drawn at once. */
const mostDrawn = 200;

/** Of a longer story: as many entries as fill a screen before one moves. */
const firstDrawn = 20;

/** The steps on both sides of the one that has the focus, so that Tab finds the next however fast it is pressed. */
const drawnBeside = 10;

interface Props {
  readonly runId: string;
  readonly entries: readonly Entry[];
  readonly steers: RunTree["steers"];
}

/**
 * The story in order: what was said by whom, and under each turn of the model the calls it asked for. Of a long one only
 * what is near to what is in sight is drawn, with all that waits for a person and what the address points at; of the rest
 * stands its text, to be looked for and read aloud.
 */
export function Tree({ runId, entries, steers }: Props) {
  const hash = useHash();
  const list = useRef<HTMLOListElement>(null);
  const focusedSeq = useFocusedSeq(list);
  const focusedAt = entries.findIndex((entry) => entry.seq === focusedSeq);
  const isBesideFocus = (n: number): boolean => focusedAt !== -1 && Math.abs(n - focusedAt) <= drawnBeside;
  const readAt = new Set(steers.map((steer) => steer.readSeq));
  const nodeCount = entries.reduce((sum, entry) => sum + 1 + entry.calls.length, 0);
  const isShort = nodeCount <= mostDrawn || !("ContentVisibilityAutoStateChangeEvent" in window);
  return (
    <ol ref={list} className="tree">
      {entries.map((entry, n) => (
        <EntryNode
          key={entry.seq}
          runId={runId}
          entry={entry}
          isSteer={entry.kind === "user" && readAt.has(entry.seq)}
          isDrawn={isShort || n < firstDrawn || isBesideFocus(n) || isAsking(entry) || isMeant(entry, hash)}
        />
      ))}
    </ol>
  );
}

/** The address points at it or at a call in it. */
export function isMeant({ seq, calls }: Entry, hash: string): boolean {
  return hash !== "" && (hash === `#step-${seq}` || calls.some(({ id }) => hash === `#call-${id}`));
}

/** The step of the list that has, or had last, the focus in it. */
function useFocusedSeq(list: RefObject<HTMLElement | null>): number | undefined {
  const [seq, setSeq] = useState<number>();
  useEffect(() => {
    const element = list.current;
    const onFocusIn = ({ target }: FocusEvent): void => {
      const entry = target instanceof Element ? target.closest(".entry") : null;
      if (entry !== null) setSeq(Number(entry.id.replace("step-", "")));
    };
    element?.addEventListener("focusin", onFocusIn);
    return () => element?.removeEventListener("focusin", onFocusIn);
  }, [list]);
  return seq;
}
