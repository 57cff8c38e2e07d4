import { decide } from "@countersign/gate/decide.ts";
import type { Rule } from "@countersign/gate/rule.ts";
import { unitsOfCommand } from "@countersign/gate/shell/units.ts";
import type { Policy, ToolFacts, Verdict } from "@countersign/gate/types.ts";
import { z } from "zod";

const mail: ToolFacts = {
  name: "mail.send",
  description: "Sends mail",
  schema: z.strictObject({ to: z.email(), subject: z.string().max(200), body: z.string().max(10_000) }),
  requires: ["mail.send"],
  needsApproval: true,
};

const commandSchema = z.strictObject({ command: z.string().max(8_192) });
const shell: ToolFacts = {
  name: "os.exec",
  description: "Runs a command",
  schema: commandSchema,
  family: "shell",
  tier: "exec",
  units: (args) => unitsOfCommand(commandSchema.parse(args).command),
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
  toolset: new Set(["mail.send", "kb.read", "os.exec"]),
  grants: new Set(["mail.send"]),
  denials: [{ approvalId: "1", tool: "mail.send", argsHash: "another" }],
  unattended: "park",
  canAnybodyAnswer: true,
};

const keys = ["git status", "git log", "head", "ls"];
const allowlist: Rule = {
  id: "shell",
  target: { kind: "tool", name: "os.exec" },
  mode: "allowlist",
  entries: keys.map((command) => ({ kind: "command", command })),
};

const mailText = JSON.stringify({ to: "somebody@example.com", subject: "The order", body: "Where is it? ".repeat(20) });

interface GateCase {
  readonly name: string;
  readonly tool: ToolFacts;
  readonly argsText: string;
  readonly policy: Policy;
  readonly expected: Verdict["verdict"];
}

/** Each with twenty rules of the workspace for other tools to look through. */
export const gateCases: readonly [GateCase, ...GateCase[]] = [
  { name: "a mail that asks", tool: mail, argsText: mailText, policy, expected: "ask" },
  {
    name: "a command line of three commands, all on an allowlist",
    tool: shell,
    argsText: JSON.stringify({ command: "git status --short && git log --oneline | head -n 20" }),
    policy: { ...policy, layers: { ...policy.layers, run: { rules: [allowlist] } } },
    expected: "allow",
  },
];

/** Verdicts per second on one case, over so long. */
export function measureGate(windowMs: number, one: GateCase = gateCases[0]): number {
  const now = new Date();
  const call = { tool: one.tool, name: one.tool.name, argsText: one.argsText };
  const { verdict, reason } = decide(call, one.policy, now);
  if (verdict !== one.expected) throw new Error(`The gate was to say ${one.expected}, and said ${verdict}: ${reason}`);
  const beganAt = performance.now();
  let verdicts = 0;
  while (performance.now() - beganAt < windowMs) {
    for (let n = 0; n < 100; n += 1) decide(call, one.policy, now);
    verdicts += 100;
  }
  return verdicts / ((performance.now() - beganAt) / 1_000);
}
