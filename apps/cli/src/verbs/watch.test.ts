import { expect, test } from "vitest";
import type { Client } from "../client.ts";
import { createStyle } from "../terminal/style.ts";
import type { Cli } from "../verb.ts";
import { watchRun } from "./watch-run.ts";
import { watchTasks } from "./watch-tasks.ts";

const id = "0190a0a0-0000-7000-8000-000000000001";
const json = (body: object): Response => Response.json(body);

/** A stream that says this and ends, or that is held until the request is given up. */
function streamOf(text: string, held?: AbortSignal): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (held === undefined) controller.close();
      else held.addEventListener("abort", () => controller.error(held.reason));
    },
  });
  return new Response(body);
}

function cliOf(v1: object, isTerminal: boolean) {
  const written: string[] = [];
  const left = new AbortController();
  const terminal: Cli["terminal"] = {
    isTerminal,
    isInteractive: false,
    style: createStyle(false),
    size: () => ({ columns: 80, rows: 24 }),
    write: (text) => void written.push(text),
    gone: left.signal,
    confirm: () => Promise.resolve(false),
  };
  const cli: Cli = {
    config: {} as Cli["config"],
    terminal,
    isJson: !isTerminal,
    client: { v1 } as unknown as Client,
    print: (lines) => terminal.write(lines.map((line) => `${line}\n`).join("")),
    printJson: (value) => terminal.write(`${JSON.stringify(value)}\n`),
  };
  return { cli, written, leave: () => left.abort() };
}

test("that the server does not answer is taken back as soon as it does, though nothing has changed", async () => {
  let opened = 0;
  const tasks = Array.from({ length: 250 }, (_, n) => ({
    id: `${n}`,
    kind: "task",
    status: "open",
    section: "today",
    title: `task ${n}`,
    createdAt: new Date().toISOString(),
  }));
  const v1 = {
    tasks: {
      $get: ({ query: { limit, cursor = "0" } }: { query: { limit: number; cursor?: string } }) => {
        const end = Number(cursor) + limit;
        const nextCursor = end < tasks.length ? String(end) : null;
        return Promise.resolve(json({ tasks: tasks.slice(Number(cursor), end), nextCursor }));
      },
    },
    events: {
      $get: (_: object, { init }: { init: { signal: AbortSignal } }) => {
        opened += 1;
        if (opened === 1) return Promise.resolve(streamOf('event: ready\nid: 1\ndata: {"everyMs":15000}\n\n'));
        setTimeout(leave, 50);
        return Promise.resolve(streamOf('event: alive\nid: 1\ndata: {"everyMs":15000}\n\n', init.signal));
      },
    },
  };
  const { cli, written, leave } = cliOf(v1, true);
  await watchTasks(cli, undefined);
  const all = written.join("");
  expect(all).toContain("does not answer");
  // However many there are, as many are counted.
  expect(all.lastIndexOf("250 tasks wait for you")).toBeGreaterThan(all.lastIndexOf("does not answer"));
});

test("whoever watches a run is told once by whom and why it is held, and that it goes on", async () => {
  const heldBy = {
    scope: "workspace",
    since: "2026-11-30T06:00:00.000Z",
    by: { id: "1", name: "Ada" },
    reason: "a drill",
  };
  const held = `event: status\ndata: ${JSON.stringify({ status: "paused", waitsOn: "kill", heldBy })}\n\n`;
  const told = [
    held,
    held,
    'event: status\ndata: {"status":"queued","waitsOn":null,"heldBy":null}\n\n',
    'event: end\ndata: {"status":"completed","waitsOn":null,"heldBy":null}\n\n',
  ];
  const v1 = { runs: { ":id": { events: { $get: () => Promise.resolve(streamOf(told.join(""))) } } } };
  const { cli, written } = cliOf(v1, true);
  await watchRun({ ...cli, isJson: false }, id, undefined);
  const all = written.join("").replace(/\s+/g, " ");
  expect(all.match(/a kill switch holds this workspace; Ada threw it/g)).toHaveLength(1);
  expect(all).toMatch(/2026-11-30 06:00:00 UTC\): a drill/);
  expect(all.match(/the kill switch is lifted/g)).toHaveLength(1);
});

test("a program that watches a run is told every line once, also those that the stream leaves out", async () => {
  const all = Array.from({ length: 2_500 }, (_, n) => ({ seq: n + 1, kind: "note", content: "x" }));
  const lineOf = (seq: number) => `event: line\nid: ${seq}\ndata: ${JSON.stringify(all[seq - 1])}\n\n`;
  const told = [
    lineOf(1),
    `event: resync\nid: 2499\ndata: {"lastSeq":2499}\n\n`,
    lineOf(2_500),
    'event: end\ndata: {"status":"completed","waitsOn":null}\n\n',
  ];
  const v1 = {
    runs: {
      ":id": {
        events: { $get: () => Promise.resolve(streamOf(told.join(""))) },
        log: {
          $get: ({ query: { after, limit } }: { query: { after: number; limit: number } }) =>
            Promise.resolve(json({ lines: all.slice(after, Math.min(after + limit, 2_499)) })),
        },
      },
    },
  };
  const { cli, written } = cliOf(v1, false);
  await watchRun(cli, id, undefined);
  expect(written.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(all.map(({ seq }) => seq));
});
