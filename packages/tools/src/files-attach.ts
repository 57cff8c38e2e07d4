import { createHash } from "node:crypto";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { defineTool, type TransactionContext } from "@countersign/engine/tool.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import { writablePages } from "@countersign/kb/scope.ts";
import { explainOverQuota, findSpace, lockFileSpace, type OverQuota } from "@countersign/ops/file-space.ts";
import { findNameProblem, putFile, readMediaType } from "@countersign/ops/files.ts";
import { mayHaveContent } from "@countersign/ops/visible.ts";
import { z } from "zod";
import { explainForbidden, explainLookup, namePage, writerOf } from "./kb-writer.ts";
import { storableLine, storableText } from "./plain-text.ts";

const mostText = 1_000_000;
const mostBase64 = 1_400_000;

const schema = z
  .strictObject({
    name: storableLine(200)
      .superRefine((name, context) => {
        const problem = findNameProblem(name);
        if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
      })
      .describe("The file's name, such as report.md"),
    text: storableText(mostText).optional().describe("The content, as text"),
    base64: z.base64().min(4).max(mostBase64).optional().describe("The content, as base64"),
    handle: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 hexadecimal digits, as a result gave it")
      .optional()
      .describe("Content that is in the store already, such as a large result"),
    mediaType: z
      .string()
      .refine((type) => readMediaType(type) !== undefined, "expected a media type, such as image/png")
      .optional()
      .describe("text/plain or application/octet-stream unless given"),
    page: storableLine(200).optional().describe("The title or id of the page that it belongs to"),
  })
  .refine(
    ({ text, base64, handle }) => [text, base64, handle].filter((one) => one !== undefined).length === 1,
    "expected exactly one of text, base64 and handle",
  );

type Args = z.infer<typeof schema>;

/** Stores content as a file that people can download, of a page or of none. */
export const filesAttach = defineTool<Args>({
  name: "files.attach",
  description:
    "Stores text or bytes as a file, or names content that is stored already; people can download it, and mails can carry it by its handle. With page, it belongs to that page.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute(args, context) {
    const { tx, workspaceId, userId, runId, shown } = context;
    const found = args.page === undefined ? undefined : await lookupPage(writerOf(context), args.page);
    if (found !== undefined && found.kind !== "found") {
      return { kind: "failed", content: `Nothing was stored. ${explainLookup(args.page ?? "", found)}` };
    }
    if (found !== undefined) {
      const [writable] = await tx`select from ${writablePages(writerOf(context))} p where id = ${found.page.id}`;
      if (writable === undefined) {
        return { kind: "failed", content: `Nothing was stored. ${explainForbidden(found.page)}` };
      }
    }
    const known = args.handle?.slice("sha256:".length);
    if (known !== undefined && !(await mayHaveContent(tx, { workspaceId, userId, runId, hash: known }, shown))) {
      return { kind: "failed", content: noContent(args.handle) };
    }
    await lockFileSpace(tx, workspaceId);
    const stored = await storeContent(args, context);
    if (stored.kind === "over_quota") return { kind: "failed", content: explainOverQuota(stored.size, stored) };
    const { hash, mediaType } = stored;
    const file = await putFile(tx, {
      workspaceId,
      hash,
      name: args.name,
      mediaType,
      createdBy: `run:${runId}`,
      runId,
      pageId: found?.page.id,
    });
    if (file === undefined) return { kind: "failed", content: noContent(args.handle) };
    const place = found === undefined ? "" : ` of page ${namePage(found.page)}`;
    return {
      kind: "done",
      content: `Stored ${file.name} (${file.mediaType}, ${file.size} bytes) as file ${file.id}${place}, handle sha256:${hash}`,
    };
  },
});

function noContent(handle: string | undefined): string {
  return `Nothing was stored: ${handle} is not found. Use a handle exactly as a result gave it.`;
}

type StoredContent =
  | { readonly kind: "stored"; readonly hash: string; readonly mediaType: string }
  | (OverQuota & { readonly size: number });

/** Stores the content where there is room for it as a file; content by its handle is in the store already. */
async function storeContent(
  { text, base64, handle, mediaType: given }: Args,
  { tx, workspaceId }: TransactionContext,
): Promise<StoredContent> {
  const mediaType = (given === undefined ? undefined : readMediaType(given)) ?? usualType(text);
  const bytes = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text, "utf8");
  const hash = handle?.slice("sha256:".length) ?? createHash("sha256").update(bytes).digest("hex");
  const [known] = await tx<{ size: number }[]>`
    select size from blobs where workspace_id = ${workspaceId} and hash = ${hash}`;
  const size = handle === undefined ? bytes.length : (known?.size ?? 0);
  const space = await findSpace(tx, workspaceId, { hash, size });
  if (space.kind === "over_quota") return { ...space, size };
  if (handle === undefined) await storeBlob(tx, workspaceId, bytes, mediaType);
  return { kind: "stored", hash, mediaType };
}

function usualType(text: string | undefined): string {
  return text === undefined ? "application/octet-stream" : "text/plain; charset=utf-8";
}
