import { defineTool, type OutsideContext } from "@countersign/engine/tool.ts";
import { z } from "zod";
import { stage } from "./own-stage.ts";

export const capabilities = ["test.own", "test.other"];

/** Uses its credential twice, and says how long it was each time. */
export const tools = [
  defineTool({
    name: "own.use",
    description: "uses a credential twice",
    schema: z.strictObject({}),
    requires: ["test.own"],
    tier: "read",
    risk: "low",
    needsApproval: false,
    effect: "read-only",
    async execute(_args: unknown, { acquire }: OutsideContext) {
      const handle = await acquire("test.own");
      const first = await handle.use(async (secret) => {
        await stage.first?.stay();
        return secret.length;
      });
      const second = await handle.use(async (secret) => secret.length);
      return { kind: "done", content: `${first} ${second}` };
    },
  }),
];
