import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createCatalog } from "./catalog.ts";
import { humanAsk } from "./human-ask.ts";

const catalog = createCatalog({ osExec: { user: "same", environment: {} } });

test("every tool is there once, in the order of the alphabet, with a schema that a model can be given", () => {
  const names = catalog.map((tool) => tool.name);
  expect(names).toEqual([
    "files.attach",
    "files.list",
    "files.read",
    "human.ask",
    "ingest.capture",
    "kb.append",
    "kb.corpus",
    "kb.create",
    "kb.edit",
    "kb.expand",
    "kb.grep",
    "kb.node.edit",
    "kb.node.read",
    "kb.read",
    "kb.remove",
    "kb.search",
    "mail.send",
    "memory.consolidate",
    "memory.propose",
    "ops.heartbeat",
    "os.exec",
    "reminders.add",
    "reminders.cancel",
    "reminders.list",
    "summarize_context",
    "tasks.create",
    "tasks.done",
    "tasks.doneLog",
    "tasks.list",
  ]);
  for (const tool of catalog) {
    expect(z.toJSONSchema(tool.schema, { io: "input" }), tool.name).toMatchObject({
      type: "object",
      additionalProperties: false,
    });
  }
});

test("reads run free, writes to our own database run free and commit with their result, what removes, mail and commands ask", () => {
  for (const tool of catalog) {
    if (tool.effect === "read-only") expect(tool.tier, tool.name).toBe("read");
    if (tool.effect === "transactional") expect(tool.tier, tool.name).toBe("write");
    expect(tool.needsApproval, tool.name).toBe(["kb.remove", "mail.send", "os.exec"].includes(tool.name));
    expect(tool.neverGated === true, tool.name).toBe(tool.effect === "question");
  }
});

test("os.exec is not in the catalog unless it is turned on", () => {
  expect(createCatalog().map(({ name }) => name)).not.toContain("os.exec");
});

describe("human.ask", () => {
  function ask(args: object) {
    if (humanAsk.effect !== "question") throw new Error("human.ask asks a question");
    return humanAsk.question(humanAsk.schema.parse({ question: "Which?", ...args }));
  }

  test("asks with nothing but a question", () => {
    expect(ask({})).toEqual({
      question: "Which?",
      options: [],
      context: undefined,
      timeoutMs: undefined,
      defaultAnswer: undefined,
    });
  });

  test("offers each option once and keeps its default and context", () => {
    expect(ask({ options: ["a", "b", "a"], default: "b", context: "c" })).toMatchObject({
      options: ["a", "b"],
      defaultAnswer: "b",
      context: "c",
    });
  });

  test.each([
    [90, 90_000],
    [1.5, 1_500],
    ["90s", 90_000],
    ["10m", 600_000],
    ["1.5 h", 5_400_000],
    ["2d", 172_800_000],
  ])("reads the timeout %j", (timeout, timeoutMs) => {
    expect(ask({ timeout }).timeoutMs).toBe(timeoutMs);
  });

  test.each([
    { question: "" },
    { question: "a\0" },
    { options: [] },
    { options: ["a\nb"] },
    { timeout: 0 },
    { timeout: -5 },
    { timeout: "0m" },
    { timeout: "soon" },
    { timeout: "10" },
    { timeout: "9999d" },
    { timeout: null },
  ])("refuses %j", (args) => {
    expect(() => ask(args)).toThrow(/too_|invalid_|custom/);
  });
});
