import { findLinks } from "@countersign/kb/find-links.ts";
import { quoteText } from "@countersign/kb/frontmatter.ts";
import type { NodeKind } from "@countersign/kb/outline.ts";
import { parseOkf } from "@countersign/kb/parse-okf.ts";
import { writeOutline } from "@countersign/kb/write-outline.ts";
import type { Capture } from "@countersign/ops/captures.ts";

/**
 * The page that a captured text becomes. All of the text is there to be read and none of it acts: the frontmatter is ours
 * alone and the text's own stands below as a fence, comments that would be node ids are left out, and nothing links to a page.
 */
export function writeCapturePage(capture: Capture, title: string, markdown: string): string {
  return `${head(capture, title)}${writeCaptureBody(capture.url, markdown)}`;
}

/** The same without frontmatter, for a page that has one; it begins with a blank line, so that nothing in it is one. */
export function writeCaptureBody(url: string, markdown: string): string {
  const { frontmatter, nodes } = parseOkf(markdown.replaceAll("\r\n", "\n"));
  const body = writeOutline(
    "",
    nodes.map(({ kind, parent, text, shape }, n) => ({
      id: String(n),
      parentId: parent === null ? null : String(parent),
      kind,
      text: withoutLinks({ kind, text }, url),
      shape,
    })),
  );
  const claims = frontmatter.replace("\uFEFF", "").trim();
  return `\n${claims === "" ? "" : `${fence(claims)}\n\n`}${body}`;
}

/** What was no link while another stood in it may be one without that, so it is looked at again; but not without end. */
const mostLooks = 3;

/** A node's text in which `[[x]]` is only text, and a link to a file goes where it went at the captured address. */
function withoutLinks({ kind, text }: { readonly kind: NodeKind; readonly text: string }, url: string): string {
  let now = text;
  for (let look = 0; look < mostLooks; look += 1) {
    const links = findLinks({ kind, text: now });
    if (links.length === 0) return now;
    now = replaceLinks(now, links, url);
  }
  const isLinking = findLinks({ kind, text: now }).length > 0;
  return isLinking ? now.replaceAll("[", "\\[").replaceAll("](", "]\\(") : now;
}

type Link = ReturnType<typeof findLinks>[number];

/** Each link's place is looked at once, from left to right. */
function replaceLinks(text: string, links: readonly Link[], url: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const { kind, start, end } of links) {
    if (start < from) continue; // A link within another's name waits for the next look.
    if (kind === "path") {
      parts.push(text.slice(from, start), URL.parse(text.slice(start, end), url)?.href ?? "about:blank");
      from = end;
      continue;
    }
    let [first, last] = [start, start];
    while (first > from && /\s/.test(text.charAt(first - 1))) first -= 1;
    const blanks = text.slice(first, start);
    let open = first;
    while (open > from && text.charAt(open - 1) === "[") open -= 1;
    while (text.charAt(last) === "[") last += 1;
    parts.push(text.slice(from, open), "\\[".repeat(first - open), blanks, "\\[".repeat(last - start));
    from = last;
  }
  return parts.join("") + text.slice(from);
}

function head({ url, source, capturedAt }: Capture, title: string): string {
  const lines = [
    "type: Capture",
    `title: ${quoteText(title)}`,
    `resource: ${quoteText(url)}`,
    ...(source === null ? [] : [`source: ${quoteText(source)}`]),
    `generated: {by: "process:capture", at: "${capturedAt.toISOString()}"}`,
  ];
  return `---\n${lines.join("\n")}\n---\n`;
}

/** A fence that nothing in the text closes. */
function fence(text: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const mark = "`".repeat(longest + 1);
  return `${mark}yaml\n${text}\n${mark}`;
}
