import { defineTool } from "@countersign/engine/tool.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import { listFiles, type StoredFile } from "@countersign/ops/files.ts";
import { z } from "zod";
import { explainLookup, readerOf } from "./kb-writer.ts";
import { storableLine } from "./plain-text.ts";

const mostFiles = 100;
const schema = z.strictObject({
  page: storableLine(200).optional().describe("Only those of this page; else those that belong to no page"),
});

/** The files that people and agents stored, with the handles to read them by. */
export const filesList = defineTool<z.infer<typeof schema>>({
  name: "files.list",
  description: "Lists stored files, newest first, with their handles for files.read: those of a page, or of no page.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  execute({ page }, context) {
    const { workspaceId, userId, shown } = context;
    return context.read(async (tx) => {
      const reader = readerOf(context, tx);
      const found = page === undefined ? undefined : await lookupPage(reader, page);
      if (found !== undefined && found.kind !== "found") {
        return { kind: "failed", content: explainLookup(page ?? "", found) };
      }
      const files = await listFiles(tx, { workspaceId, userId, pageId: found?.page.id, limit: mostFiles });
      if (files.length === 0) return { kind: "done", content: "There are no files here." };
      const lines = files.slice(0, mostFiles).map(describeFile);
      for (const { runId } of files) if (runId !== null) shown.runs.add(runId);
      const end =
        files.length > mostFiles ? `Truncated: the newest ${mostFiles} are shown.` : `${files.length} in all.`;
      return { kind: "done", content: [...lines, end].join("\n") };
    });
  },
});

function describeFile({ hash, name, mediaType, size, createdAt }: StoredFile): string {
  return `- ${name} (${mediaType}, ${size} bytes, ${createdAt.toISOString()}), handle sha256:${hash}`;
}
