import type { Queryable } from "@countersign/db/connect.ts";
import { storeBlob } from "./blobs.ts";

/** The most of a result that the model is given at once, in UTF-8 bytes; the rest is a handle away. */
const maxResultBytes = 32 * 1024;

/** What the model is given of a result: all of it, or its head, the size and a handle to read on with. */
export interface CappedResult {
  readonly content: string;
  /** The sha256 of the whole where `content` is only its head. */
  readonly blob?: string;
}

/** Afterwards a result of any size fits a prompt, and none of it is lost. */
export async function capResult(sql: Queryable, workspaceId: string, content: string): Promise<CappedResult> {
  const bytes = Buffer.from(content, "utf8");
  if (bytes.length <= maxResultBytes) return { content };
  const blob = await storeBlob(sql, workspaceId, bytes, "text/plain; charset=utf-8");
  const head = headOf(bytes);
  const shown = Buffer.byteLength(head);
  return {
    content: `${head}\n[truncated: ${shown} of ${bytes.length} bytes are shown; read on with files.read, handle "sha256:${blob}", offset ${shown}]`,
    blob,
  };
}

/** What is kept of a text that stands in no result: as much of it as a result may have, and how much more there was. */
export function cutShort(text: string): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= maxResultBytes) return text;
  const head = headOf(bytes);
  return `${head}\n[cut: ${Buffer.byteLength(head)} of ${bytes.length} bytes are kept]`;
}

/** As many bytes as fit without cutting a character in two. */
function headOf(bytes: Buffer): string {
  let end = maxResultBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
