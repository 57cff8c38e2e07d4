import { decide } from "@countersign/gate/decide.ts";
import type { Policy, ToolFacts } from "@countersign/gate/types.ts";
import { z } from "zod";

const tool: ToolFacts = {
  name: "mail.send",
  description: "Sends mail",
  schema: z.strictObject({ to: z.email(), subject: z.string().max(200), body: z.string().max(10_000) }),
  requires: ["mail.send"],
  needsApproval: true,
};

const policy: Policy = {
  versions: "1.1.1.0",
  layers: {
    definition: { approvalPolicy: { level: "outbound" } },
    workspace: {
      rules: Array.from({ length: 20 }, (_, n) => ({
        id: `rule-${n}`,
        target: { kind: "tool", name: `tool-${n}` },
        mode: "ask",
      })),
    },
  },
  kills: [],
  toolset: new Set(["mail.send", "kb.read"]),
  grants: new Set(["mail.send"]),
  denials: [{ approvalId: "1", tool: "mail.send", argsHash: "another" }],
  unattended: "park",
  canAnybodyAnswer: true,
};

const argsText = JSON.stringify({ to: "somebody@example.com", subject: "The order", body: "Where is it? ".repeat(20) });

/** Verdicts per second on a mail that asks, with twenty rules of the workspace to look through, over so long. */
export function measureGate(windowMs: number): number {
  const now = new Date();
  const call = { tool, name: "mail.send", argsText };
  const verdict = decide(call, policy, now);
  if (verdict.verdict !== "ask") throw new Error(`The gate was to ask, and said ${verdict.verdict}: ${verdict.reason}`);
  const beganAt = performance.now();
  let verdicts = 0;
  while (performance.now() - beganAt < windowMs) {
    for (let n = 0; n < 100; n += 1) decide(call, policy, now);
    verdicts += 100;
  }
  return verdicts / ((performance.now() - beganAt) / 1_000);
}
