import { findLinks } from "@countersign/kb/find-links.ts";
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

/**
 * A node's text in which `[[x]]` is only text, and a link to a file goes where it went at the captured address. What was
 * no link while another stood in it may be one without that, so it is looked at until there is none.
 */
function withoutLinks({ kind, text }: { readonly kind: NodeKind; readonly text: string }, url: string): string {
  for (let now = text; ;) {
    const links = findLinks({ kind, text: now });
    if (links.length === 0) return now;
    const next = links.toReversed().reduce((plain, link) => withoutLink(plain, link, url), now);
    now = next === now ? now.replaceAll("[", "\\[") : next;
  }
}

type Link = ReturnType<typeof findLinks>[number];

function withoutLink(text: string, { kind, start, end }: Link, url: string): string {
  const [before, after] = [text.slice(0, start), text.slice(start)];
  return kind === "path"
    ? before + (URL.parse(text.slice(start, end), url)?.href ?? "about:blank") + text.slice(end)
    : before.replace(/\[+\s*$/, escapeBrackets) + after.replace(/^\[+/, escapeBrackets);
}

function escapeBrackets(brackets: string): string {
  return brackets.replaceAll("[", "\\[");
}

function head({ url, source, capturedAt }: Capture, title: string): string {
  const lines = [
    "type: Capture",
    `title: ${JSON.stringify(title)}`,
    `resource: ${JSON.stringify(url)}`,
    ...(source === null ? [] : [`source: ${JSON.stringify(source)}`]),
    `generated: {by: "process:capture", at: "${capturedAt.toISOString()}"}`,
  ];
  return `---\n${lines.join("\n")}\n---\n`;
}

/** A fence that nothing in the text closes. */
function fence(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}yaml\n${text}\n${mark}`;
}
