import { type FoundSpan, findSpans } from "./find-spans.ts";

/** What is made of Markdown: nothing else exists, so nothing else can come of what somebody wrote. */
export type Block =
  | { readonly kind: "paragraph"; readonly spans: readonly Span[] }
  | { readonly kind: "heading"; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: "list"; readonly isOrdered: boolean; readonly items: readonly (readonly Span[])[] }
  | { readonly kind: "quote"; readonly spans: readonly Span[] }
  | { readonly kind: "code"; readonly text: string };

export type Span =
  | { readonly kind: "text" | "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis"; readonly spans: readonly Span[] }
  | { readonly kind: "link"; readonly url: string; readonly spans: readonly Span[] }
  | { readonly kind: "page"; readonly id: string; readonly spans: readonly Span[] };

/** The id of the page that a name or a path leads to; undefined where it leads to none. */
export type PageOf = (nameOrPath: string) => string | undefined;

const noPages: PageOf = () => undefined;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6}) +(?! )(.*)$/;
const item = /^ {0,8}(?:([-*+])|\d{1,9}[.)]) +(?! )(.*)$/;
const quote = /^ {0,3}> ?(.*)$/;

/**
 * Reads a small part of Markdown: paragraphs, headings, lists, quotes, code, emphasis, links to http, https and mailto,
 * and links to the pages that `pageOf` knows. Whatever else stands there, HTML and images among it, stays the text it is.
 */
export function readMarkdown(text: string, pageOf: PageOf = noPages): readonly Block[] {
  const lines = text.split(/\r\n|\n/);
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: "paragraph", spans: readSpans(paragraph.join("\n"), pageOf) });
    paragraph = [];
  };

  for (let n = 0; n < lines.length; n += 1) {
    const line = lines[n] ?? "";
    const opened = fence.exec(line)?.[1];
    if (opened !== undefined) {
      endParagraph();
      const inside: string[] = [];
      for (n += 1; n < lines.length && !(lines[n] ?? "").trimStart().startsWith(opened); n += 1)
        inside.push(lines[n] ?? "");
      blocks.push({ kind: "code", text: inside.join("\n") });
      continue;
    }
    const [, signs, title] = heading.exec(line) ?? [];
    if (signs !== undefined) {
      endParagraph();
      blocks.push({ kind: "heading", level: signs.length, spans: readSpans(withoutClosing(title ?? ""), pageOf) });
      continue;
    }
    const listed = item.exec(line);
    if (listed !== null) {
      endParagraph();
      const isOrdered = listed[1] === undefined;
      const items: (readonly Span[])[] = [];
      for (let found: RegExpExecArray | null = listed; found !== null; found = item.exec(lines[n + 1] ?? "")) {
        if (found !== listed) n += 1;
        items.push(readSpans(found[2] ?? "", pageOf));
        if ((item.exec(lines[n + 1] ?? "")?.[1] === undefined) !== isOrdered) break;
      }
      blocks.push({ kind: "list", isOrdered, items });
      continue;
    }
    const quoted = quote.exec(line);
    if (quoted !== null) {
      endParagraph();
      blocks.push({ kind: "quote", spans: readSpans(quoted[1] ?? "", pageOf) });
      continue;
    }
    if (line.trim() === "") endParagraph();
    else paragraph.push(line);
  }
  endParagraph();
  return blocks;
}

/** A heading's text without the signs that may stand behind it. */
function withoutClosing(title: string): string {
  const text = withoutEnd(title, " ");
  const rest = withoutEnd(text, "#");
  return rest.length < text.length && rest.endsWith(" ") ? withoutEnd(rest, " ") : text;
}

function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === character) end -= 1;
  return text.slice(0, end);
}

/** How deep one emphasis stands in another; what is deeper stays text. */
const mostDepth = 4;

function readSpans(text: string, pageOf: PageOf, depth = 0): readonly Span[] {
  if (depth > mostDepth) return [{ kind: "text", text }];
  const found: Span[] = [];
  let from = 0;
  for (const part of findSpans(text)) {
    const span = spanOf(part, pageOf, depth);
    if (span === undefined) continue;
    if (part.start > from) found.push({ kind: "text", text: text.slice(from, part.start) });
    found.push(span);
    from = part.end;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

function spanOf({ kind, inner, url }: FoundSpan, pageOf: PageOf, depth: number): Span | undefined {
  if (kind === "code") return { kind, text: inner };
  if (kind === "strong" || kind === "emphasis") return { kind, spans: readSpans(inner, pageOf, depth + 1) };
  const spans: readonly Span[] = [{ kind: "text", text: inner }];
  if (kind === "link" && isSafe(url)) return { kind, url, spans };
  const id = pageOf(url);
  return id === undefined ? undefined : { kind: "page", id, spans };
}

/** An address that a browser takes for what it looks like, to somewhere a click may lead. */
export function isSafe(address: string): boolean {
  if (!/^(?:https?:\/\/|mailto:)[\x21-\x7e]+$/i.test(address)) return false;
  try {
    const { protocol, username } = new URL(address);
    return ["http:", "https:", "mailto:"].includes(protocol) && username === "";
  } catch {
    return false;
  }
}
