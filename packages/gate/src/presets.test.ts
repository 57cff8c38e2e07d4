import { describe, expect, test } from "vitest";
import * as z from "zod";
import { decide } from "./decide.ts";
import { type PresetName, presetNames, presetOf } from "./presets.ts";
import { makePolicy, now } from "./testing/make-call.ts";
import type { ToolFacts } from "./types.ts";

const schema = z.looseObject({});
const tool = (name: string, facts: Partial<ToolFacts>): ToolFacts => ({ name, description: name, schema, ...facts });
const isReading = (args: unknown): boolean =>
  ["status", "logs", "list"].includes(schema.parse(args)["action"] as string);

const tools: readonly ToolFacts[] = [
  tool("read_file", { tier: "read" }),
  tool("manage_todos", { tier: "write", risk: "low" }),
  tool("write_file", { tier: "write" }),
  tool("edit", { tier: "write" }),
  tool("apply_patch", { tier: "write" }),
  tool("mail.send", { tier: "write", needsApproval: true }),
  tool("custom", {}),
  tool("bash", { tier: (args) => (isReading(args) ? "read" : "exec") }),
];

function verdictUnder(preset: PresetName, name: string, action?: string): string {
  const found = tools.find((one) => one.name === name);
  const call = { tool: found, name, argsText: JSON.stringify(action === undefined ? {} : { action }) };
  const policy = makePolicy({ layers: { run: presetOf(preset) }, toolset: new Set(tools.map((one) => one.name)) });
  return decide(call, policy, now).verdict;
}

const calls = [
  "read_file",
  "manage_todos",
  "write_file",
  "edit",
  "apply_patch",
  "mail.send",
  "custom",
  "bash exec",
  "bash start",
  "bash write",
  "bash stop",
  "bash status",
  "bash logs",
  "bash list",
];
const reads = ["read_file", "bash status", "bash logs", "bash list"];
const writes = ["manage_todos", "write_file", "edit", "apply_patch", "mail.send"];

/** What runs unasked. */
const unasked: Readonly<Record<PresetName, readonly string[]>> = {
  "always-ask": reads,
  write: [...reads, ...writes],
  yolo: calls,
  unset: [...reads, "manage_todos"],
  "read-only": reads,
  "low-risk": [...reads, "manage_todos"],
  "high-risk": calls,
  manual: [],
  safe: [...reads, "manage_todos", "mail.send", "custom"],
  auto: calls,
};

describe.each(presetNames)("%s", (preset) => {
  test("lets run what its name says, and asks before everything else", () => {
    const ran = calls.filter((call) => {
      const [name = "", action] = call.split(" ");
      return verdictUnder(preset, name, action) === "allow";
    });
    expect(ran.toSorted()).toEqual([...unasked[preset]].toSorted());
  });

  test("never gets past a tool that always asks, or a danger", () => {
    for (const facts of [{ alwaysGate: true }, { safety: () => "outside_root" }]) {
      const call = { tool: tool("bash", { tier: "read", ...facts }), name: "bash", argsText: "{}" };
      const policy = makePolicy({ layers: { run: presetOf(preset) }, toolset: new Set(["bash"]) });
      expect(decide(call, policy, now).verdict).toBe("ask");
    }
  });
});

test("AZ22: under yolo an ordinary command runs, and what asks can still be approved", () => {
  const units = () => [{ text: "git branch -d x", key: "git branch", commands: [["git", "branch", "-d", "x"]] }];
  const policy = makePolicy({ layers: { run: presetOf("yolo") }, toolset: new Set(["bash"]) });
  const verdictOf = (facts: Partial<ToolFacts>) =>
    decide({ tool: tool("bash", facts), name: "bash", argsText: "{}" }, policy, now).verdict;
  expect(verdictOf({ units })).toBe("allow");
  expect(verdictOf({ units: () => [{ text: "git $X", unkeyable: "expansion" }] })).toBe("ask");
});
