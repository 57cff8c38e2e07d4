import type { Executor } from "@countersign/engine/decorate-tool.ts";
import { nothingShown } from "@countersign/engine/shown.ts";
import type { CallContext } from "@countersign/engine/tool.ts";
import { expect, test } from "vitest";
import { limitAttempts, reportAttempts, type ToolAttempt } from "./decorators.ts";

const tool = { name: "act", effect: "once" } as const;
const contextOf = (workspaceId: string): CallContext => ({
  workspaceId,
  runId: "r",
  callId: "c",
  userId: "u",
  idempotencyKey: "k",
  preconditions: [],
  selectedOptionId: undefined,
  signal: new AbortController().signal,
  shown: nothingShown(),
});
const acts: Executor = async () => ({ kind: "done", content: "acted" });

test("every attempt is told of when it is over, however it ended, and nothing of what it was about", async () => {
  const told: ToolAttempt[] = [];
  const decorate = reportAttempts((attempt) => told.push(attempt));
  await decorate(acts, tool)({ secret: 1 }, contextOf("w"));
  const fails: Executor = () => Promise.reject(new Error("no"));
  await expect(decorate(fails, tool)({}, contextOf("w"))).rejects.toThrow("no");
  const common = { tool: "act", workspaceId: "w", runId: "r", callId: "c", tookMs: expect.any(Number) };
  expect(told).toEqual([
    { ...common, outcome: "done" },
    { ...common, outcome: "threw" },
  ]);
});

test("a limit holds for each workspace and each tool by itself, and what is over it is not carried out", async () => {
  let now = 0;
  let acted = 0;
  const decorate = limitAttempts(2, 60_000, () => now);
  const counted: Executor = async (args, context) => {
    acted += 1;
    return await acts(args, context);
  };
  const act = decorate(counted, tool);
  const other = decorate(counted, { ...tool, name: "other" });
  const kinds = async (...runs: Promise<{ kind: string }>[]) => (await Promise.all(runs)).map(({ kind }) => kind);
  expect(await kinds(act({}, contextOf("a")), act({}, contextOf("a")), act({}, contextOf("a")))).toEqual([
    "done",
    "done",
    "failed",
  ]);
  expect(await kinds(act({}, contextOf("b")), other({}, contextOf("a")))).toEqual(["done", "done"]);
  expect(acted).toBe(4);
  now = 30_000;
  expect(await act({}, contextOf("a"))).toEqual({
    kind: "failed",
    content: "act was not run: at most 2 calls in 60 s; try again in 30 s",
  });
  now = 60_000;
  expect(await kinds(act({}, contextOf("a")))).toEqual(["done"]);
});
