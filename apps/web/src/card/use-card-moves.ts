import { type RefObject, useEffect } from "react";
import { areKeysOn } from "./keys-switch.ts";

/**
 * J and K move the focus from card to card within a list, wherever in it, or on none, it was; never out of a text. Beyond
 * the last one `readMore` is asked, which says whether there was more to read.
 */
export function useCardMoves(list: RefObject<HTMLElement | null>, readMore?: () => Promise<boolean>): void {
  useEffect(() => {
    const cards = (): HTMLElement[] => [...(list.current?.querySelectorAll<HTMLElement>(".card") ?? [])];

    async function move(step: number): Promise<void> {
      const at = cards().findIndex((card) => card.contains(document.activeElement));
      const aim = at === -1 ? 0 : Math.max(at + step, 0);
      while (cards().length <= aim && readMore !== undefined && (await readMore())) await drawn();
      const next = cards()[Math.min(aim, cards().length - 1)];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    }

    const onKeyDown = (event: KeyboardEvent): void => {
      const step = { j: 1, k: -1 }[event.key.toLowerCase()];
      if (step === undefined || !areKeysOn() || !isFree(event) || cards().length === 0) return;
      event.preventDefault();
      void move(step);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [list, readMore]);
}

/** Resolves when what was read before is on the page. */
function drawn(): Promise<void> {
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
}

/** Not typed into something, not combined or composed, and no dialog is open. */
export function isFree(event: KeyboardEvent): boolean {
  const { target } = event;
  const isText = target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
  const hasModifier = event.ctrlKey || event.altKey || event.metaKey;
  const isComposing = event.isComposing || event.keyCode === 229;
  return !isText && !hasModifier && !isComposing && document.querySelector("dialog[open]") === null;
}
