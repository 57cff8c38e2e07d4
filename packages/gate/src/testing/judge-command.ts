import * as z from "zod";
import { decide } from "../decide.ts";
import type { Rule } from "../rule.ts";
import { makePolicy, makeTool, now } from "./make-call.ts";
import type { ToolFacts, Verdict } from "../types.ts";
import { type CommandContext, unitsOfCommand } from "../shell/units.ts";

export interface CommandRule {
  readonly mode: "allow" | "deny";
  readonly command: string;
}

/** A shell tool with nothing declared but its units. `denylist: "off"`: as if there were none. */
export function makeShell(context: CommandContext = {}, denylist: "on" | "off" = "on"): ToolFacts {
  return makeTool({
    name: "demo",
    family: "shell",
    tier: "exec",
    schema: z.strictObject({ command: z.string() }),
    units: (args: unknown) => {
      const units = unitsOfCommand((args as { command: string }).command, context);
      return "kind" in units || denylist === "on" ? units : units.map(({ denylisted: _, ...unit }) => unit);
    },
  });
}

/** What the whole gate says of a command, the shell being in allowlist mode with these entries. */
export function judgeCommand(
  command: string,
  rules: readonly CommandRule[],
  tool: ToolFacts = makeShell({}, "off"),
): Verdict {
  const target = { kind: "tool", name: "demo" } as const;
  const entriesOf = (mode: CommandRule["mode"]): NonNullable<Rule["entries"]> =>
    rules.filter((rule) => rule.mode === mode).map((rule) => ({ kind: "command", command: rule.command }));
  const denying = entriesOf("deny");
  const policy = makePolicy({
    layers: {
      workspace: {
        rules: [
          { id: "allowlist", target, mode: "allowlist", entries: entriesOf("allow") },
          ...(denying.length === 0 ? [] : [{ id: "deny", target, mode: "deny" as const, entries: denying }]),
        ],
      },
    },
  });
  return decide({ tool, name: "demo", argsText: JSON.stringify({ command }) }, policy, now);
}

export function allow(...commands: readonly string[]): CommandRule[] {
  return commands.map((command) => ({ mode: "allow", command }));
}

export function deny(...commands: readonly string[]): CommandRule[] {
  return commands.map((command) => ({ mode: "deny", command }));
}
