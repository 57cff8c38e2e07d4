import { defineTool } from "@countersign/engine/tool.ts";
import { readBlobText } from "@countersign/ops/read-blob.ts";
import { mayHaveContent } from "@countersign/ops/visible.ts";
import { z } from "zod";

const usualLength = 16_384;
const longest = 65_536;

const schema = z.strictObject({
  handle: z.string().regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 hexadecimal digits, as a result gave it"),
  offset: z.int().min(0).optional().describe("Where to begin, in bytes; 0 unless given"),
  length: z.int().min(1).max(longest).optional().describe(`How many bytes; ${usualLength} unless given`),
});

/** Reads on in a result that was too large to be shown whole. */
export const filesRead = defineTool<z.infer<typeof schema>>({
  name: "files.read",
  description:
    "Reads a part of stored content, such as a result too large to be shown whole, by its handle. Says the total size and where to read on.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ handle, offset = 0, length = usualLength }, context) {
    const { workspaceId, userId, runId, shown } = context;
    const hash = handle.slice("sha256:".length);
    const read = await context.read(async (tx) =>
      (await mayHaveContent(tx, { workspaceId, userId, runId, hash }, shown))
        ? await readBlobText(tx, { workspaceId, hash, offset, length })
        : { kind: "missing" as const },
    );
    switch (read.kind) {
      case "missing":
        return {
          kind: "failed",
          content: `${handle} is not found. Use a handle exactly as a result gave it.`,
        };
      case "not-text":
        return {
          kind: "failed",
          content: `${handle} is not UTF-8 text here (${read.mediaType}, ${read.size} bytes); it cannot be shown.`,
        };
      case "read": {
        const { text, start, end, size } = read;
        if (start === size)
          return {
            kind: "done",
            content: `Nothing at offset ${offset}: the content ends at ${size} bytes.`,
          };
        const rest = end < size ? `next offset ${end}` : "this is the end";
        return { kind: "done", content: `bytes ${start} to ${end} of ${size}; ${rest}\n\n${text}` };
      }
    }
  },
});
