import { readingTool } from "@countersign/engine/testing/engine.ts";
import type { OutsideContext, ToolResult } from "@countersign/engine/tool.ts";
import { stage } from "./own-stage.ts";

export const capabilities = ["test.own", "test.other"];

/** Uses its credential twice, and says how long it was each time. */
async function useTwice(_args: unknown, { acquire }: OutsideContext): Promise<ToolResult> {
  const handle = await acquire("test.own");
  const first = await handle.use(async (secret) => {
    await stage.first?.stay();
    return secret.length;
  });
  const second = await handle.use(async (secret) => secret.length);
  return { kind: "done", content: `${first} ${second}` };
}

export const tools = [
  readingTool("own.use", () => ({ kind: "failed", content: "it was lent nothing" }), {
    requires: ["test.own"],
    risk: "low",
    execute: useTwice,
  }),
];
