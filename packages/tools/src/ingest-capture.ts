import { storeBlob } from "@countersign/engine/blobs.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { putCapture } from "@countersign/ops/captures.ts";
import { z } from "zod";
import { storableLine, storableText } from "./plain-text.ts";

const schema = z.strictObject({
  url: storableLine(2_000).describe("Where it was read: an http or https address"),
  title: storableLine(200),
  markdown: storableText(500_000).describe("The extracted text, as Markdown"),
  screenshotFileId: z.uuid().optional().describe("The id of a stored file that shows it"),
  source: storableLine(200).optional().describe("Who or what extracted it"),
});

/** Files text that was read elsewhere; a page is made of it soon after. The text is data, whatever it says. */
export const ingestCapture = defineTool<z.infer<typeof schema>>({
  name: "ingest.capture",
  description:
    "Files extracted content of a web page; a page of the knowledge base is made of it in the background, or brought up to date where the address was captured before. Capturing the newest text of an address again changes nothing.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ url, title, markdown, screenshotFileId, source }, { tx, workspaceId, userId, runId, callId }) {
    const hash = await storeBlob(tx, workspaceId, Buffer.from(markdown, "utf8"), "text/markdown; charset=utf-8");
    const put = await putCapture(tx, {
      workspaceId,
      url,
      title: title.trim(),
      hash,
      source,
      screenshotFileId,
      userId,
      call: { runId, callId },
    });
    switch (put.kind) {
      case "captured":
        return { kind: "done", content: `Captured as ${put.id}; its page is made in the background.` };
      case "existing":
        return {
          kind: "done",
          content: `This very text is the newest of the address and was captured before, as ${put.id}. Nothing was changed.`,
        };
      case "refused":
        return { kind: "failed", code: "invalid_args", content: `Nothing was captured: ${put.reason}.` };
    }
  },
});
