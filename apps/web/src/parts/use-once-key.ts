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
      if (sent.current?.text !== text) sent.current = { text, key: randomKey() };
      return sent.current.key;
    },
    spend() {
      sent.current = undefined;
    },
  };
}

/** Of 128 bits. Over plain HTTP, under another name than localhost, a browser has no `randomUUID`. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
