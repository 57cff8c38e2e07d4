import { useRef } from "react";

/**
 * A key for each thing that is sent: the same thing has the same key, so that sending it again after a lost answer does it
 * once; another thing has another. `spend` after it was done, so that the same thing may be meant anew.
 */
export function useOnceKey(): { readonly keyOf: (asked: unknown) => string; readonly spend: () => void } {
  const sent = useRef<{ readonly text: string; readonly key: string }>(undefined);
  return {
    keyOf(asked) {
      const text = JSON.stringify(asked);
      if (sent.current?.text !== text) sent.current = { text, key: crypto.randomUUID() };
      return sent.current.key;
    },
    spend() {
      sent.current = undefined;
    },
  };
}
