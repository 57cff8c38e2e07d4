import { storableLine } from "./shapes/common.ts";

/** Letters of other scripts beside the Latin ones that look the same. */
const lookalikes = new Map(
  (
    [
      ["аɑα", "a"],
      ["вβ", "b"],
      ["сϲ", "c"],
      ["ԁ", "d"],
      ["еε", "e"],
      ["һн", "h"],
      ["іιı", "i"],
      ["јϳ", "j"],
      ["кκ", "k"],
      ["ӏ", "l"],
      ["мμ", "m"],
      ["ո", "n"],
      ["оοօ", "o"],
      ["рρ", "p"],
      ["ԛ", "q"],
      ["г", "r"],
      ["ѕ", "s"],
      ["тτ", "t"],
      ["υս", "u"],
      ["νѵ", "v"],
      ["ԝω", "w"],
      ["хχ", "x"],
      ["уγ", "y"],
      ["ζ", "z"],
    ] as const
  ).flatMap(([letters, latin]) => Array.from(letters, (letter) => [letter, latin] as const)),
);

/**
 * What two names have in common that a tired eye takes for one: without case, in one form of Unicode, and with the letters
 * of other scripts that look like Latin ones as those.
 */
export function likenessOf(name: string): string {
  return Array.from(name.normalize("NFKC").toLowerCase(), (letter) => lookalikes.get(letter) ?? letter).join("");
}

/** A name as cards and the audit show it: nothing in it that is not seen, and one way alone to write it. */
export const personName = storableLine(100)
  .refine(
    (name) => name === name.trim() && !/ {2}|(?! )\s/u.test(name),
    "expected plain blanks only, one at a time, and none at the ends",
  )
  .refine(
    (name) => !/[\p{C}\p{Default_Ignorable_Code_Point}\ufffc\ufffd\u2800]/u.test(name) && /[\p{L}\p{N}]/u.test(name),
    "expected letters, digits and signs that can be seen",
  )
  .transform((name) => name.normalize("NFC"));
