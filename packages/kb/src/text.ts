import { foldName } from "./fold.ts";

const controlCharacter = /\p{Cc}/u;
const longestTitle = 200;

/** A file name has at most 255 bytes; `-2`, `.md` and what a program puts behind it have to fit too. */
export const mostSlugBytes = 200;

/** Says what keeps `text` from being stored exactly as it is, in words for whoever wrote it; undefined where nothing does. */
export function findTextProblem(text: string): string | undefined {
  const nul = text.indexOf("\0");
  if (nul >= 0) return `it holds a NUL character (U+0000) at position ${nul}, which cannot be stored; leave it out`;
  if (!text.isWellFormed()) return "it holds half of a surrogate pair, which is no character; leave it out";
  return undefined;
}

/**
 * Says why `title` cannot name a page, in words for whoever wrote it; undefined where it can. A title is one line of 1
 * to 200 characters without control characters, and without `[[` and `]]`, which delimit it in a link.
 */
export function findTitleProblem(title: string): string | undefined {
  const problem = findTextProblem(title);
  if (problem !== undefined) return problem;
  if (title.trim() === "") return "it is empty";
  if (title.length > longestTitle) return `it has ${title.length} characters; a title has at most ${longestTitle}`;
  const folded = foldName(title).length;
  if (folded > 2 * longestTitle)
    return `its characters stand for ${folded} others, as which names are compared; at most ${2 * longestTitle} may be`;
  if (controlCharacter.test(title))
    return "it holds a line break, a tab or another control character; a title is one line";
  if (/\[\[|\]\]/.test(title)) return "it holds [[ or ]], which delimit a title in a link";
  return undefined;
}

/**
 * The part of an address that stands for `title`: letters and digits of any script, lower case, joined by hyphens; at most
 * 100 characters and 200 bytes, so that a file can have it as its name.
 */
export function slugOf(title: string): string {
  return cutToBytes(joinWords(title), mostSlugBytes) || "page";
}

/** The first 100 letters and digits of `text`, lower case, joined by hyphens; up to 400 bytes, empty where it has none. */
export function joinWords(text: string): string {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return Array.from(words.join("-")).slice(0, 100).join("");
}

/** As many of the first characters as have `most` bytes in UTF-8; none is cut in two. */
export function cutToBytes(text: string, most: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > most) break;
    end += character.length;
  }
  return text.slice(0, end);
}
