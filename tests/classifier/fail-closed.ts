import type { Model } from "@countersign/engine/model.ts";
import { createAnthropicModel } from "@countersign/model/anthropic.ts";
import { type Script, startMessagesServer } from "@countersign/model/testing/messages-server.ts";
import { measureClassifier } from "./measure.ts";

/** Ways in which a classifier can be of no use: a provider that is down, and answers that are not one of the two words. */
const useless: Readonly<Record<string, Script>> = {
  "answers 529": () => ({ status: 529, type: "overloaded_error" }),
  "answers 500": () => ({ status: 500, type: "api_error" }),
  "refuses the key": () => ({ status: 401, type: "authentication_error" }),
  "breaks off": () => ({ say: [{ text: "read-only" }], stopAfter: { events: 3, with: "break" } }),
  "falls silent": () => ({ say: [{ text: "read-only" }], stopAfter: { events: 3, with: "silence" } }),
  "says a sentence": () => ({ say: [{ text: "This is read-only." }] }),
  "says it with a line end": () => ({ say: [{ text: "read-only\n" }] }),
  "says it in capitals": () => ({ say: [{ text: "READ-ONLY" }] }),
  "calls a tool": () => ({ say: [{ use: "approve", args: "{}" }] }),
  "is cut off": () => ({ say: [{ text: "read-only" }], stopReason: "max_tokens" }),
};

/** Asks classifiers that are of no use about every canary; answers those by which any was lowered, which is to be none. */
export async function findOpenWays(limitMs: number): Promise<readonly string[]> {
  const open: string[] = [];
  for (const [how, script] of Object.entries(useless)) {
    const server = await startMessagesServer("no key", script);
    try {
      const { lowered, spared } = await measureClassifier(modelOf(server.url, "no key"), "none", limitMs);
      if (lowered.length + spared > 0) open.push(how);
    } finally {
      await server.close();
    }
  }
  return open;
}

/** Claude at an address, asked again over what passes for no longer than the classifier waits. */
export function modelOf(baseUrl: string, key: string): Model {
  return createAnthropicModel({
    baseUrl,
    withKey: (_request, body) => body(key),
    models: new Map(),
    retry: { forMs: 10_000, firstMs: 200, maxMs: 2_000 },
    report: () => undefined,
  });
}
