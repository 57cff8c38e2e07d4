import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { checkTarget, type ResolvedAddress, type TargetOptions } from "@countersign/broker/public-address.ts";

export interface PostOptions extends TargetOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type PostOutcome =
  /** Any status; redirects are not followed. */
  { readonly kind: "answered"; readonly status: number } | { readonly kind: "failed"; readonly failure: string };

/** The body of an answer is thrown away, and none of it taken beyond this. */
const mostAnswerBytes = 64 * 1024;

/**
 * Posts `body` to `url`, on a connection of its own to an address that was looked at and to no other. Nothing is sent where
 * the URL is not to be reached. Settles within `timeoutMs`, whatever the other side does: the status counts as soon as it is
 * there. A failure is told in words of ours, without what the other side said.
 */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: PostOptions,
): Promise<PostOutcome> {
  const late = AbortSignal.timeout(options.timeoutMs);
  const signal = AbortSignal.any([late, options.signal]);
  const reach = async (): Promise<PostOutcome> => {
    const target = await checkTarget(url, options);
    if (target.kind !== "allowed") return { kind: "failed", failure: `not sent: ${target.message}` };
    signal.throwIfAborted();
    const status = await send(target.url, { headers, body, signal, lookup: only(target.addresses) });
    return { kind: "answered", status };
  };
  try {
    signal.throwIfAborted();
    // A look-up cannot be broken off.
    return await Promise.race([reach(), rejectOnAbort(signal)]);
  } catch (error) {
    if (options.signal.aborted) return { kind: "failed", failure: "broken off: the worker stopped" };
    if (late.aborted) return { kind: "failed", failure: `no answer within ${options.timeoutMs} ms` };
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { kind: "failed", failure: `no connection (${code})` };
  }
}

async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw signal.reason;
}

/** Answers every look-up with these addresses, so that a name that now leads elsewhere leads nowhere new. */
function only(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_name, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };
}

interface Sending {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly lookup: LookupFunction;
}

async function send(url: URL, { headers, body, signal, lookup }: Sending): Promise<number> {
  const { request } = url.protocol === "https:" ? https : http;
  return await new Promise<number>((answered, failed) => {
    const sent = request(
      url,
      {
        method: "POST",
        agent: false,
        lookup,
        signal,
        headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (answer) => {
        answered(answer.statusCode ?? 0);
        let bytes = 0;
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > mostAnswerBytes) answer.destroy();
        });
        answer.on("error", () => undefined);
      },
    );
    // Where nobody listens for it, a switch of protocols ends the request without an answer or an error.
    sent.on("upgrade", (answer, socket) => {
      socket.destroy();
      answered(answer.statusCode ?? 0);
    });
    sent.on("error", failed);
    sent.on("close", () => failed(new Error("The connection closed without an answer.")));
    sent.end(body);
  });
}
