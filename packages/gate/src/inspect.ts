const printable = /^[\t\n\r\x20-\x7e]*$/;

/** Takes no room, looks like a space that it is not, or has no fixed look: format, private use, unassigned, fillers. */
const hidden =
  /[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2D7F\u{10A3F}\u{1107F}\u{1193E}\u{11A47}\u{11A99}\u{11F42}\u{16FE4}\u2800\uFFFC\u{13441}\u{13442}\u{1D159}\u{1DA7F}\u{1DA80}]|(?! )\p{Zs}/u;

/** Slashes, dots, colons, semicolons and hyphens that are not the ones they look like. */
const punctuation =
  /[\u02d0\u037e\u05c3\u2010-\u2012\u2024\u2044\u2212\u2215\u2236\u29f8\u3002\ua4fa\ua789\ufe58\ufe63\uff61]/u;

const word = /[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
const likeLatin =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Georgian}]/u;

/** Words of another script, of letters that look Latin one by one. */
const allLikeLatin = /^[аеорсухіјѕԁһӏԛԝѵАВЕЅІЈКМНОРСТХУҮԌՏՍοινρυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧᎪᎬᎫᏔᎻᎫᏦᏞᎷᏢᏒᏚᎢ]+$/u;

/**
 * Why a person could not see from a text what it says; undefined where they can. `hidden_character`: something invisible
 * or without a look of its own. `confusable`: something that looks like another character, in a word of mixed scripts, in
 * a word among Latin ones that only looks Latin, or as a stand-in for one of ASCII.
 */
export function findDisguise(text: string): "hidden_character" | "confusable" | undefined {
  if (printable.test(text)) return undefined;
  if (hidden.test(text)) return "hidden_character";
  if (punctuation.test(text) || standsInForAscii(text)) return "confusable";
  const hasLatin = latin.test(text);
  const words = text.match(word) ?? [];
  return words.some((one) => likeLatin.test(one) && (latin.test(one) || (hasLatin && allLikeLatin.test(one))))
    ? "confusable"
    : undefined;
}

/** A character that looks like another, and the word that it stands in. */
export interface Lookalike {
  readonly character: string;
  readonly word: string;
}

/** What makes `findDisguise` call a text confusable: each such character once for each word, in the order of the text. */
export function findLookalikes(text: string): readonly Lookalike[] {
  const hasLatin = latin.test(text);
  const found = new Map<string, Lookalike>();
  for (const [part] of text.matchAll(/\S+/gu)) {
    const foreign = new Set(
      (part.match(word) ?? [])
        .filter((one) => likeLatin.test(one) && (latin.test(one) || (hasLatin && allLikeLatin.test(one))))
        .flatMap((one) => Array.from(one).filter((character) => likeLatin.test(character))),
    );
    for (const character of part)
      if (foreign.has(character) || punctuation.test(character) || standsInForAscii(character))
        found.set(`${character} ${part}`, { character, word: part });
  }
  return [...found.values()];
}

/** Full-width and mathematical letters, and whatever else compatibility makes one character of ASCII of. */
function standsInForAscii(text: string): boolean {
  if (text.normalize("NFKC") === text) return false;
  return Array.from(text).some((character) => character > "\x7f" && /^[\x21-\x7e]$/.test(character.normalize("NFKC")));
}
