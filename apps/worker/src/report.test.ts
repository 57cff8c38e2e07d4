import { Writable } from "node:stream";
import { EngineError } from "@countersign/engine/engine-error.ts";
import type { EngineEvent } from "@countersign/engine/engine.ts";
import { type Logger, pino } from "pino";
import { expect, test } from "vitest";
import { createModelReport, createReport } from "./report.ts";

type Logged = { line: Record<string, unknown>; text: string };

function logged(level: string, event: EngineEvent): Logged {
  return written(level, (log) => createReport(log)(event));
}

function written(level: string, write: (log: Logger) => void): Logged {
  let text = "";
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  write(pino({ level }, sink));
  return { line: JSON.parse(text) as Record<string, unknown>, text };
}

test("an event is a line with its name and the run's id", () => {
  const { line } = logged("info", { kind: "lease.lost", runId: "r1" });
  expect(line).toMatchObject({ event: "lease.lost", runId: "r1", level: 40 });
});

test("of another's error neither message nor stack is written, for they may quote contents", () => {
  const error = Object.assign(new Error("insert of 'my secret text' failed"), { code: "23505" });
  const { line, text } = logged("info", { kind: "tool.failed", runId: "r1", tool: "mail.send", error });
  expect(line["error"]).toEqual({ name: "Error", code: "23505" });
  expect(text).not.toContain("secret text");
});

test("an error of ours keeps its message", () => {
  const error = new EngineError("unknown_scenario", "there is no scenario named x");
  const { line } = logged("info", { kind: "run.failed", runId: "r1", error });
  expect(line["error"]).toEqual({
    name: "EngineError",
    code: "unknown_scenario",
    message: "there is no scenario named x",
  });
});

test("a price that is not known is a warning that names the model and what can say it", () => {
  const { line } = written("info", (log) =>
    createModelReport(log)({ kind: "model.price_unknown", model: "claude-nova" }),
  );
  expect(line).toMatchObject({ level: 40, model: "claude-nova" });
  expect(line["msg"]).toMatch(/the price of the model claude-nova is not known.*COUNTERSIGN_MODELS/);
});

test("the stack is written at debug only", () => {
  const { line } = logged("debug", { kind: "sweep.failed", error: new Error("x") });
  expect((line["error"] as { stack?: string }).stack).toContain("report.test.ts");
});
