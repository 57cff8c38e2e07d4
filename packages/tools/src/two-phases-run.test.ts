import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CardBody } from "@countersign/engine/card.ts";
import { callsOf, decidePending, outcomeOf } from "@countersign/engine/testing/driver.ts";
import { driveRun, makeEngine, type TestEngine } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { osExec } from "./os-exec.ts";
import { editFile } from "./testing/edit-file.ts";

const { sql } = await engineDatabase();
const folder = mkdtempSync(join(tmpdir(), "countersign-two-phases-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

const tools = [
  editFile({ root: folder, configuration: ["rules.yaml", "mcp.json"] }),
  osExec({ user: "same", environment: { PATH: process.env["PATH"] } }),
];

interface Given {
  readonly engine: TestEngine;
  readonly world: World;
  readonly runId: string;
}

/** A run that asks for one call under the loosest policy there is, driven until it parks or ends. */
async function givenCall(tool: string, args: object, specOver: object = {}): Promise<Given> {
  const spec = { name: "agent", model: "scripted", toolset: ["edit_file", "os.exec"], ...specOver };
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, tools, ({ results }) =>
    results.length === 0
      ? { use: [{ tool, args }] }
      : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { engine, world, runId };
}

async function approvalsOf(runId: string) {
  const rows = await sql<{ status: string; row: string; reason: string; card: string }[]>`
    select status, gate_row as row, gate_reason as reason, card from approvals where run_id = ${runId} order by requested_at`;
  return rows.map(({ card, ...asked }) => ({ ...asked, card: JSON.parse(card) as CardBody }));
}

const loose = { approvalPolicy: "none", dial: "high" };
const change = { path: "notes.txt", oldText: "two", newText: "2" };

beforeEach(() => {
  write("notes.txt", "one\ntwo\nthree\n");
  write("s.sh", "echo harmless\n");
  write("rules.yaml", "two: allow\n");
});

describe("a file that is edited", () => {
  test("is shown as a diff, and changed once a person agrees", async () => {
    const { engine, world, runId } = await givenCall("edit_file", change);
    const [asked] = await approvalsOf(runId);
    expect(asked?.card).toMatchObject({
      preview: "--- notes.txt\n+++ notes.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n ",
      preconditions: [{ kind: "file", name: "notes.txt", hash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });
    expect(read("notes.txt")).toBe("one\ntwo\nthree\n");
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed notes.txt");
    expect(read("notes.txt")).toBe("one\n2\nthree\n");
  });

  test("under the preview asks again and is not touched", async () => {
    const { engine, world, runId } = await givenCall("edit_file", change);
    write("notes.txt", "one\ntwo\nthree\nfour\n");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(read("notes.txt")).toBe("one\ntwo\nthree\nfour\n");
    expect(await approvalsOf(runId)).toMatchObject([
      { status: "superseded" },
      { status: "pending", reason: "precondition_changed:notes.txt" },
    ]);
  });

  test.each([
    ["AZ60", "rules.yaml", "safety:configuration"],
    ["AZ60", "./rules.yaml", "safety:configuration"],
    ["AZ60", "sub/../mcp.json", "safety:configuration"],
    ["AZ21", "../elsewhere.txt", "safety:outside_root"],
    ["AZ21", "../../etc/passwd", "safety:outside_root"],
  ])("%s: aimed at %s it asks under the loosest policy, since that is dangerous: %s", async (_id, path, reason) => {
    mkdirSync(join(folder, "sub"), { recursive: true });
    write("mcp.json", "two");
    writeFileSync(join(folder, "..", "elsewhere.txt"), "two");
    const { runId } = await givenCall("edit_file", { path, oldText: "two", newText: "2" }, loose);
    const [asked] = await approvalsOf(runId);
    const isReadable = !path.endsWith("passwd");
    if (isReadable) expect(asked).toMatchObject({ status: "pending", row: "11", reason });
    else expect(await outcomeOf(sql, runId)).toContain("completed: error");
    expect(await callsOf(sql, runId)).toMatchObject([{ attempt: 0 }]);
    rmSync(join(folder, "..", "elsewhere.txt"), { force: true });
  });

  test("runs unasked within the folder where policy is loose", async () => {
    const { runId } = await givenCall("edit_file", change, loose);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed notes.txt");
    expect(await approvalsOf(runId)).toEqual([]);
  });
});

describe("AZ61: a script that a command runs", () => {
  const sh = (command: string) => ({ command, cwd: folder });

  test.each([
    "sh s.sh",
    "bash ./s.sh",
    "sh -x s.sh",
    "sh -e s.sh",
    "bash -o pipefail s.sh",
    "cat s.sh | sh",
    'eval "$(cat s.sh)"',
    "bash <(cat s.sh)",
    "make -f s.sh",
    "for f in s.sh; do sh $f; done",
    ". ./s.sh",
    "true && sh s.sh",
    "env X=1 sh s.sh",
    "timeout 5 sh s.sh",
    "sh -c 'sh s.sh'",
    "sh < s.sh",
    "echo $(sh s.sh)",
    "cd . && sh s.sh",
  ])("is asked again where it was rewritten before the approval: %s", async (command) => {
    const { engine, world, runId } = await givenCall("os.exec", sh(command), loose);
    const [asked] = await approvalsOf(runId);
    expect(asked?.card.preconditions).toMatchObject([{ kind: "script", name: join(folder, "s.sh") }]);
    write("s.sh", "echo harmful > harm\n");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting", attempt: 0 }]);
    expect(() => read("harm")).toThrow("ENOENT");
    expect((await approvalsOf(runId)).at(-1)).toMatchObject({
      status: "pending",
      reason: `precondition_changed:${join(folder, "s.sh")}`,
    });
  });

  test("that was not there when it was approved is not run when it has come since", async () => {
    const { engine, world, runId } = await givenCall("os.exec", sh("sh late.sh"), loose);
    write("late.sh", "echo harmful > harm\n");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(() => read("harm")).toThrow("ENOENT");
    rmSync(join(folder, "late.sh"));
  });

  test("that is as it was runs", async () => {
    const { engine, world, runId } = await givenCall("os.exec", sh("sh s.sh"), loose);
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok exit code 0\nharmless\n");
  });

  test("and one that runs none goes the short way: the claim begins it", async () => {
    const { engine, world, runId } = await givenCall("os.exec", sh("echo hello"), loose);
    expect((await approvalsOf(runId))[0]?.card.preconditions).toBeUndefined();
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok exit code 0\nhello\n");
  });
});
