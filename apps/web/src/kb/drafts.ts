import type { Page } from "./queries.ts";

/** What was written of a page and not saved, and the page it was written on. */
export interface KeptDraft {
  readonly base: Page;
  readonly text: string;
}

const kept = new Map<string, KeptDraft>();

/** What this tab keeps of a page that one left without saving. */
export function keptDraft(pageId: string): KeptDraft | undefined {
  return kept.get(pageId);
}

/** Afterwards this tab keeps the draft for as long as it is open, or, where it says what the page says, none. */
export function keepDraft(pageId: string, draft: KeptDraft | undefined): void {
  if (draft === undefined || draft.text === draft.base.okf) kept.delete(pageId);
  else kept.set(pageId, draft);
}
