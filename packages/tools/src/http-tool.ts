import { setTimeout as delay } from "node:timers/promises";
import { describeFailure } from "@countersign/broker/failure.ts";
import { defineTool, type OutsideContext, type Tool, type ToolResult } from "@countersign/engine/tool.ts";
import { z } from "zod";
import type { HttpToolDeclaration } from "./http-tool-declaration.ts";
import { signCall } from "./sign-call.ts";

type Arguments = Record<string, unknown>;

const mostBytes = 1024 * 1024;

/** Failures of which the other side has seen nothing. */
const beforeSending = new Set(["host_not_found", "unreachable", "tls_failed"]);

/** Before each further attempt of a call that may be repeated. */
const retryAfterMs = [500, 2_000, 5_000];

const answer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("done"), content: z.string() }),
  z.object({ kind: z.literal("failed"), content: z.string() }),
  z.object({ kind: z.literal("unknown"), content: z.string() }),
]);

/**
 * A tool that another program carries out. It gets a signed POST with the arguments, the ids of run and call, and a key
 * that is the same for every attempt of one call, and answers at once. Throws where the schema is none.
 */
export function httpTool(declared: HttpToolDeclaration): Tool {
  const { name, description, url, effect, signedBy, timeoutMs } = declared;
  const schema = z.fromJSONSchema(declared.schema) as z.ZodType<Arguments>;
  const isReading = effect === "read-only";
  return defineTool<Arguments>({
    name,
    description,
    // Another address is another tool: what was approved for this one is asked again.
    schema: schema.meta({ $comment: `POST ${url}` }),
    requires: [signedBy],
    tier: declared.tier ?? (isReading ? "read" : "exec"),
    ...(declared.risk === undefined ? {} : { risk: declared.risk }),
    needsApproval: declared.needsApproval ?? !isReading,
    ...(declared.alwaysGate === undefined ? {} : { alwaysGate: declared.alwaysGate }),
    effect,
    // Its own limit ends it first, with an answer that says so.
    timeoutMs: timeoutMs + 5_000,
    details: () => [`POST ${url}`],
    async execute(args, context) {
      const limit = AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]);
      const handle = await context.acquire(signedBy);
      const attempt = (): Promise<Attempt> =>
        handle.use((secret) => send(declared, secret, bodyOf(name, args, context), context.idempotencyKey, limit));
      let last = await attempt();
      for (const afterMs of effect === "once" ? [] : retryAfterMs) {
        if (last.kind === "answered" || limit.aborted) break;
        await delay(afterMs, undefined, { signal: limit }).catch(() => undefined);
        if (!limit.aborted) last = await attempt();
      }
      return describe(last, declared);
    },
  });
}

/** `sent` says whether the other side may have got the call. */
type Attempt =
  | { readonly kind: "answered"; readonly result: ToolResult }
  | { readonly kind: "unanswered"; readonly why: string; readonly sent: boolean };

function bodyOf(tool: string, args: Arguments, context: OutsideContext): string {
  const { idempotencyKey, workspaceId, runId, callId, userId } = context;
  return JSON.stringify({ tool, args, idempotencyKey, workspaceId, runId, callId, userId });
}

async function send(
  { url }: HttpToolDeclaration,
  secret: string,
  body: string,
  idempotencyKey: string,
  signal: AbortSignal,
): Promise<Attempt> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
        ...signCall(secret, idempotencyKey, new Date(), body),
      },
      body,
      redirect: "manual",
      signal,
    });
  } catch (error) {
    const { code, message } = describeFailure(error, new URL(url).hostname);
    return { kind: "unanswered", why: message, sent: !beforeSending.has(code) };
  }
  if (response.status >= 500 || response.status === 408 || response.status === 429) {
    await response.body?.cancel().catch(() => undefined);
    return { kind: "unanswered", why: `it answered with HTTP ${response.status}`, sent: response.status !== 429 };
  }
  if (!response.ok) {
    await response.body?.cancel().catch(() => undefined);
    return { kind: "answered", result: { kind: "failed", content: `refused with HTTP ${response.status}` } };
  }
  return await readAnswer(response);
}

/** A body that breaks off or is no answer leaves open what was done. */
async function readAnswer(response: Response): Promise<Attempt> {
  if (response.status === 202)
    return { kind: "unanswered", why: "it answered with HTTP 202, but calls are answered at once", sent: true };
  try {
    const parsed = answer.safeParse(JSON.parse(await readText(response)));
    if (parsed.success) return { kind: "answered", result: parsed.data };
  } catch {
    // No JSON, or none that came to its end.
  }
  return {
    kind: "unanswered",
    why: `its answer is not JSON such as {"kind":"done","content":"…"} of at most ${mostBytes} bytes`,
    sent: true,
  };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function describe(attempt: Attempt, { name, url, effect }: HttpToolDeclaration): ToolResult {
  if (attempt.kind === "answered") return attempt.result;
  const content = `${name} at ${new URL(url).host} gave no answer: ${attempt.why}`;
  if (effect === "once" && attempt.sent) return { kind: "unknown", content };
  return { kind: "failed", content: effect === "once" ? `${content}; it was not carried out` : content };
}
