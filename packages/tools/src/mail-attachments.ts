import { readBlob } from "@countersign/ops/read-blob.ts";
import { mayHaveContent } from "@countersign/ops/visible.ts";
import type { OutsideContext } from "@countersign/engine/tool.ts";

/** A file of the store, as it goes with a mail. */
export interface Attachment {
  readonly handle: string;
  readonly filename: string;
}

export type AttachmentsOutcome =
  | { readonly kind: "read"; readonly contents: ReadonlyMap<string, string> }
  | { readonly kind: "unusable"; readonly problem: string };

/** Many servers take no more. Counted before base64 adds a third. */
const mostBytes = 20 * 1024 * 1024;

/**
 * The contents of a mail's attachments as base64, by handle. Unusable where one is not in the workspace's store or is not
 * for this run to have, is not what its handle says, or where all together are over 20 MB.
 */
export async function readAttachments(
  {
    read,
    workspaceId,
    userId,
    runId,
    shown,
  }: Pick<OutsideContext, "read" | "workspaceId" | "userId" | "runId" | "shown">,
  attachments: readonly Attachment[],
): Promise<AttachmentsOutcome> {
  const contents = new Map<string, string>();
  let room = mostBytes;
  for (const { handle, filename } of attachments) {
    if (contents.has(handle)) continue;
    const hash = handle.slice("sha256:".length);
    const mostBytesLeft = room;
    const blob = await read(async (tx) =>
      (await mayHaveContent(tx, { workspaceId, userId, runId, hash }, shown))
        ? await readBlob(tx, { workspaceId, hash, mostBytes: mostBytesLeft })
        : { kind: "missing" as const },
    );
    switch (blob.kind) {
      case "missing":
        return { kind: "unusable", problem: `${filename}: there is no ${handle}` };
      case "too_large":
        return { kind: "unusable", problem: `the attachments are over ${mostBytes / 1024 / 1024} MB together` };
      case "damaged":
        return { kind: "unusable", problem: `${filename}: what is stored as ${handle} is something else` };
      case "read":
        room -= blob.bytes.length;
        contents.set(handle, blob.bytes.toString("base64"));
    }
  }
  return { kind: "read", contents };
}
