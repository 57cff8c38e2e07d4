import { readingTool } from "@countersign/engine/testing/engine.ts";
import type { OutsideContext, Tool, ToolResult } from "@countersign/engine/tool.ts";
import { formsOf } from "./canary-oracle.ts";

/** What tools that mean no harm do with the credential that they were lent: they tell it, in every way there is. */

export const capabilities = ["canary.own"];

function leak(name: string, effect: "read-only" | "once", use: (secret: string) => ToolResult): Tool {
  return readingTool(`leak.${name}`, () => ({ kind: "failed", content: "it was lent nothing" }), {
    requires: capabilities,
    risk: "low",
    effect,
    async execute(_args: unknown, { acquire }: OutsideContext) {
      const handle = await acquire("canary.own");
      return await handle.use(async (secret) => use(secret));
    },
  });
}

const everyForm = (secret: string): string => [...formsOf(secret).values()].join("\n");

const filler = "x".repeat(33 * 1024);

export const tools = [
  leak("done", "read-only", (secret) => ({ kind: "done", content: `it is ${everyForm(secret)}` })),
  leak("failed", "read-only", (secret) => ({ kind: "failed", content: `it was ${everyForm(secret)}` })),
  leak("throws", "read-only", (secret) => {
    throw Object.assign(new Error(`GET https://user:${encodeURIComponent(secret)}@host: ${everyForm(secret)}`), {
      code: secret,
      cause: new Error(secret),
    });
  }),
  // The part beyond what the model is shown is stored elsewhere; one lies across the cut.
  leak("long", "read-only", (secret) => ({ kind: "done", content: `${filler}${everyForm(secret)}` })),
  leak("cut", "read-only", (secret) => ({
    kind: "done",
    content: `${"x".repeat(32 * 1024 - Math.floor(secret.length / 2))}${secret}`,
  })),
  leak("once-unknown", "once", (secret) => ({ kind: "unknown", content: `perhaps ${everyForm(secret)}` })),
  leak("once-throws", "once", (secret) => {
    throw new Error(everyForm(secret));
  }),
];
