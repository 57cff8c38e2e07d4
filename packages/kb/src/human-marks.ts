import { type Document, isAlias, isCollection, isPair, isScalar, type Node, parseDocument } from "yaml";
import { longestParsed } from "./frontmatter.ts";
import { frontmatterBlock } from "./outline.ts";

export type HumanMarks =
  /** Each claim that a person verified the page, as text that is the same where the claim is. */
  | { readonly kind: "read"; readonly marks: readonly string[] }
  /** Not all readers of YAML would see the same in it. */
  | { readonly kind: "unclear"; readonly reason: string };

/** What ends a line, or the frontmatter, for some readers and not for others. */
const unclearPlaces: readonly (readonly [RegExp, string])[] = [
  [/\r(?!\n)|[\u0085\u2028\u2029]/, "it holds a character that ends a line for some programs and not for others"],
  [/^(?:-{3,}[ \t]*$|\.\.\.(?:[ \t]|$))/m, "it has a line of dots or dashes, where it ends for some programs"],
];

/**
 * The claims that a person verified the page: below any key spelled `verified`, at any depth and in any form that a reader
 * of YAML takes for it, whatever names a person. Aliases are followed, and keys that stand twice are both read.
 */
export function readHumanMarks(text: string, { isStrict }: { readonly isStrict: boolean }): HumanMarks {
  const source = frontmatterBlock.exec(text)?.[1];
  if (source === undefined || source.trim() === "") return { kind: "read", marks: [] };
  if (source.length > longestParsed) {
    return { kind: "unclear", reason: `it has ${source.length} characters; at most ${longestParsed} are read` };
  }
  const unclear = isStrict ? unclearPlaces.find(([place]) => place.test(source)) : undefined;
  if (unclear !== undefined) return { kind: "unclear", reason: unclear[1] };
  try {
    const options = { strict: isStrict, uniqueKeys: false, logLevel: "silent", prettyErrors: false } as const;
    const document = parseDocument(source, options);
    const [error] = document.errors;
    if (error !== undefined) return { kind: "unclear", reason: `it is no YAML: ${error.message}` };
    document.toJS({ maxAliasCount: 20 });
    return { kind: "read", marks: [...new Set(findMarks(document, source))] };
  } catch {
    return { kind: "unclear", reason: "its aliases, or its depth, are too many" };
  }
}

interface Place {
  readonly isVerified: boolean;
  /** The outermost entry below the key; a list has one each. */
  readonly entry: Node | undefined;
}

function findMarks(document: Document, source: string): string[] {
  const marks: string[] = [];
  const seen = { outside: new Set<unknown>(), inside: new Set<unknown>() };

  function visit(node: unknown, { isVerified, entry }: Place): void {
    if (isAlias(node)) return visit(node.resolve(document), { isVerified, entry: isVerified ? node : entry });
    const known = isVerified ? seen.inside : seen.outside;
    if (known.has(node)) return;
    known.add(node);
    if (isPair(node)) {
      visit(node.key, { isVerified, entry });
      visit(node.value, { isVerified: isVerified || textsIn(document, node.key).some(isVerifiedKey), entry });
    } else if (isCollection(node)) {
      const isList = node.items.every((item) => !isPair(item));
      const own = isVerified && !isList ? (entry ?? node) : entry;
      if (isVerified && saysHuman(node.tag)) marks.push(markOf(own ?? node, source));
      for (const item of node.items) visit(item, { isVerified, entry: own });
    } else if (isScalar(node) && isVerified && [...textsOf(node), node.tag ?? ""].some(saysHuman)) {
      marks.push(markOf(entry ?? node, source));
    }
  }

  visit(document.contents, { isVerified: false, entry: undefined });
  return marks;
}

/** What is behind an alias or a tag may change without the entry, so it counts with all that stands beside it. */
function markOf(entry: Node, source: string): string {
  const [start = 0, end = source.length] = entry.range ?? [];
  const text = source.slice(start, end).trim();
  return /[*&!]/.test(text) ? `${text} (in ${source})` : text;
}

/** All that a key says: one that is itself a list or a map is written out by some readers. */
function textsIn(document: Document, key: unknown): string[] {
  const node: unknown = isAlias(key) ? key.resolve(document) : key;
  if (isScalar(node)) return textsOf(node);
  if (isPair(node)) return [...textsIn(document, node.key), ...textsIn(document, node.value)];
  return isCollection(node) ? node.items.flatMap((item) => textsIn(document, item)) : [];
}

function textsOf({ value, source }: { readonly value: unknown; readonly source?: string }): string[] {
  const decoded = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value);
  return source === undefined ? [decoded] : [decoded, source];
}

function isVerifiedKey(key: string): boolean {
  return plainly(key) === "verified";
}

function saysHuman(text: string | undefined): boolean {
  return text !== undefined && /^[!\s]*(?:tag:[^:]*:)?human(?![\p{L}\p{N}-])/u.test(plainly(text));
}

/** Without what is not seen, and in one form. */
function plainly(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "")
    .toLowerCase()
    .trim();
}
