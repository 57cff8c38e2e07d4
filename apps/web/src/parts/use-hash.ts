import { useSyncExternalStore } from "react";

/** The last two are what the router tells of. */
const events = ["hashchange", "popstate", "pushState", "replaceState"] as const;

/** What the address points at within the page, with its sign: `#call-…`. */
export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash);
}

/** Points at a step of a run's story or at a call in one. */
export function isAddress(hash: string): boolean {
  return /^#(?:step-\d{1,9}|call-[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})$/.test(hash);
}

function subscribe(onChange: () => void): () => void {
  for (const name of events) addEventListener(name, onChange);
  return () => {
    for (const name of events) removeEventListener(name, onChange);
  };
}
