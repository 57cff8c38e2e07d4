import { defineTool } from "@countersign/engine/tool.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import { listReached, viewPage, type PageView } from "@countersign/kb/read-linked.ts";
import { z } from "zod";
import { alsoShown, headOf } from "./kb-head.ts";
import { explainLookup, namePage, readerOf } from "./kb-writer.ts";
import { storableLine } from "./plain-text.ts";

const schema = z.strictObject({
  page: storableLine(200).describe("The page's title, alias or id"),
  depth: z
    .int()
    .min(0)
    .max(2)
    .optional()
    .describe("Also show the pages reached over so many links, at most 10 pages in all; 0 unless given"),
});

const mostPages = 10;
/** What is shown at once, in UTF-8 bytes: less than what a result may hold. */
const mostBytes = 28_000;

/** The whole page as Markdown, every bullet with its id, and what it links to where that is asked for. */
export const kbRead = defineTool<z.infer<typeof schema>>({
  name: "kb.read",
  description:
    "Reads a page of the knowledge base as Markdown, with its labels, the pages that link to it, and its revision. Every bullet ends its first line with its id as a comment, <!--id-->.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  execute({ page: asked, depth = 0 }, context) {
    return context.read(async (tx) => {
      const reader = readerOf(context, tx);
      const found = await lookupPage(reader, asked);
      if (found.kind !== "found") return { kind: "failed", content: explainLookup(asked, found) };
      const view = await viewPage(reader, found.page.id);
      if (view === undefined)
        return { kind: "failed", content: `The page "${found.page.title}" was removed just now.` };
      const text = showPage(view);
      let left = mostBytes - Buffer.byteLength(text);
      if (left < 0) return { kind: "done", content: showStart(view) };

      let also = "";
      const parts: string[] = [];
      const unshown: string[] = [];
      for (const { id } of await listReached(reader, found.page.id, depth, mostPages - 1)) {
        const linked = await viewPage(reader, id);
        if (linked === undefined) continue;
        const part = `\n\n===\n${headOf(linked.page)}${showPage(linked)}`;
        left -= Buffer.byteLength(part) + 100;
        if (left < 0) unshown.push(`- ${namePage(linked.page)}`);
        else {
          parts.push(part);
          also += alsoShown(linked.page);
        }
      }
      const rest = unshown.length === 0 ? "" : `\n\n===\nLinked too, but too long to show here:\n${unshown.join("\n")}`;
      return { kind: "done", content: `${headOf(view.page)}${also}${text}${parts.join("")}${rest}` };
    });
  },
});

function showPage({ labels, backlinks, okf }: PageView): string {
  const links = backlinks.map(({ id, title }) => `${JSON.stringify(title)} (id ${id})`).join(", ");
  return [
    labels.length === 0 ? "" : `labels: ${labels.map((label) => JSON.stringify(label)).join(", ")}\n`,
    links === "" ? "" : `linked from: ${links}\n`,
    `\n${okf === "" ? "(the page is empty)" : okf}`,
  ].join("");
}

function showStart({ page, okf }: PageView): string {
  const start = Buffer.from(okf).subarray(0, mostBytes).toString("utf8");
  const shown = start.slice(0, start.lastIndexOf("\n") + 1);
  const note = `truncated: ${Buffer.byteLength(shown)} of ${Buffer.byteLength(okf)} bytes are shown`;
  return `${headOf(page, note)}\n${shown}[truncated: find the rest with kb.grep, read and change a part of it with kb.node.read and kb.node.edit]`;
}
