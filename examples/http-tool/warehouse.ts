import { createHmac, timingSafeEqual } from "node:crypto";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";

/** How far the clock of the caller may be off. */
const toleranceS = 300;

/**
 * The program on the other side of an HTTP tool: it checks who calls, does each thing once, and answers at once with
 * `{"kind": "done" | "failed" | "unknown", "content": "…"}`.
 */
export function createWarehouse(secret: string): Server {
  /** What was answered to each call, by its idempotency key; in a database, where it is to outlive the process. */
  const answers = new Map<string, string>();
  let reserved = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (!isSigned(secret, request.headers, body)) {
      response.writeHead(401).end();
      return;
    }
    const { idempotencyKey, args } = JSON.parse(body) as {
      idempotencyKey: string;
      args: { article: string; count: number };
    };
    const known = answers.get(idempotencyKey);
    if (known === undefined) reserved += args.count;
    const said =
      known ??
      JSON.stringify({ kind: "done", content: `${args.count} × ${args.article} reserved; ${reserved} in all` });
    answers.set(idempotencyKey, said);
    response.writeHead(200, { "content-type": "application/json" }).end(said);
  }

  return createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
}

/** Standard Webhooks: HMAC-SHA256 over id, time and body, compared in constant time, and not too old. */
function isSigned(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = headers;
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceS) return false;
  const expected = Buffer.from(
    `v1,${createHmac("sha256", secret)
      .update(`${String(id)}.${String(timestamp)}.${body}`)
      .digest("base64")}`,
  );
  const given = Buffer.from(String(signature));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
