import { readBlobChunks } from "@countersign/ops/read-blob.ts";
import type { Context } from "hono";
import type { AppEnv, ServerDependencies } from "./context.ts";

/** Stored content, and what it is called when it is saved. */
export interface Content {
  readonly workspaceId: string;
  /** The sha256 of the content, 64 hexadecimal digits. */
  readonly hash: string;
  readonly name: string;
  readonly mediaType: string;
  /** In bytes. */
  readonly size: number;
}

/**
 * Answers with stored content, chunk by chunk, none of it held for longer. What is stored and is not what its hash says
 * breaks the answer off before its end; a damaged one of a single chunk is refused instead.
 */
export async function answerContent(
  c: Context<AppEnv>,
  { sql, log }: Pick<ServerDependencies, "sql" | "log">,
  content: Content,
): Promise<Response> {
  const chunks = readBlobChunks(sql, content);
  // Before the answer begins: a file of one chunk is checked whole by now, so that a damaged one is no success.
  const first = await chunks.next();
  const requestId = c.get("requestId");
  const body = streamOf(first, chunks, (error) => {
    log.error({ requestId, err: error }, "a download broke off");
    // The reader knows how much is to come, and that it is not all.
    c.env?.outgoing?.destroy();
  });
  return c.newResponse(c.req.method === "HEAD" ? null : body, 200, headersOf(content));
}

/** What keeps a browser from doing anything with what somebody uploaded, or a tool gave, but to save it. */
function headersOf({ name, mediaType, size, hash: sha256 }: Content): Record<string, string> {
  const plain = name.replaceAll(/[^\w. -]/g, "_");
  return {
    "Content-Type": mediaType,
    "Content-Length": String(size),
    "Content-Disposition": `attachment; filename="${plain}"; filename*=UTF-8''${encodeRfc5987(name)}`,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    ETag: `"${sha256}"`,
    "Repr-Digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
  };
}

function encodeRfc5987(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Asks for the next chunk when the reader has taken the last; a reader that leaves ends it. An error breaks the answer off. */
function streamOf(
  first: IteratorResult<Buffer, void>,
  chunks: AsyncGenerator<Buffer, void, undefined>,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  let next: IteratorResult<Buffer, void> | undefined = first;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = next ?? (await chunks.next());
        next = undefined;
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onError(error);
        controller.close();
      }
    },
    async cancel() {
      await chunks.return();
    },
  });
}
