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

/** An answer is read no further than this, and never kept. */
const mostAnswerBytes = 64 * 1024;

/**
 * Posts `body` to `url`, on a connection of its own to an address that was looked at and to no other. Nothing is sent where
 * the URL is not to be reached. A failure is told in words of ours, without what the other side said.
 */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: PostOptions,
): Promise<PostOutcome> {
  const target = await checkTarget(url, options);
  if (target.kind !== "allowed") return { kind: "failed", failure: `not sent: ${target.message}` };
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), options.signal]);
  try {
    const status = await send(target.url, { headers, body, signal, lookup: only(target.addresses) });
    return { kind: "answered", status };
  } catch (error) {
    if (options.signal.aborted) return { kind: "failed", failure: "broken off: the worker stopped" };
    if (signal.aborted) return { kind: "failed", failure: `no answer within ${options.timeoutMs} ms` };
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { kind: "failed", failure: `no connection (${code})` };
  }
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
        let bytes = 0;
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > mostAnswerBytes) answer.destroy();
        });
        answer.on("error", failed);
        answer.on("close", () => answered(answer.statusCode ?? 0));
      },
    );
    sent.on("error", failed);
    sent.end(body);
  });
}
