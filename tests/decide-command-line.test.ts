import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { type Asked, givenMail, mail, sendDecision, setApprovers } from "@countersign/server/testing/asking.ts";
import { givenPeople } from "@countersign/server/testing/harness.ts";
import { beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";
import type { Answer } from "./support/countersign.ts";

const { sql, url } = await testDatabase();
const { data, address, run } = await givenCommandLine(url);
let world: Awaited<ReturnType<typeof givenPeople>>;

beforeEach(async () => {
  world = await givenPeople(sql);
});

/** Runs a verb about tasks as an approver, or as who is said. */
async function tasks(args: readonly string[], as: keyof typeof world.tokens = "approver", input = ""): Promise<Answer> {
  return await run(world.tokens[as], ["tasks", ...args], input);
}

async function cardOf({ approvalId }: Asked): Promise<string> {
  const [row] = await sql<{ task_id: string }[]>`select task_id from approvals where id = ${approvalId}`;
  return row?.task_id ?? "";
}

async function rowOf({ approvalId }: Asked) {
  const [row] =
    await sql`select status, scope, edited_args, decided_by, decided_for from approvals where id = ${approvalId}`;
  return row;
}

test("approve changes the arguments, remembers the answer and takes equal ones along, showing each before", async () => {
  const asked = await givenMail(sql, world);
  const card = await cardOf(asked);
  const file = join(data, "arguments.json");
  const changed = { ...mail, to: ["bob@example.com"] };
  await writeFile(file, JSON.stringify(changed));
  const seen = ["--digest", asked.argsDigest];
  const edited = await tasks(["approve", card, ...seen, "--edit", file, "--for", "run", "--unit", "bob@example.com"]);
  expect(edited).toMatchObject({ code: 0, out: expect.stringContaining("Instead, as you changed them") });
  expect(edited.out).toContain("bob@example.com");
  expect(await rowOf(asked)).toMatchObject({
    status: "approved",
    scope: "run",
    edited_args: JSON.stringify(changed),
  });
  const rules = await sql`select entries from rules where scope_id = ${asked.runId}`;
  expect(rules).toEqual([{ entries: [{ kind: "unit", unit: "bob@example.com" }] }]);

  expect(edited.out).not.toContain("waits for a decision");
  expect(edited.out).not.toContain("./countersign tasks");

  const equal = [await givenMail(sql, world), await givenMail(sql, world), await givenMail(sql, world)] as const;
  const shown = await tasks(["show", await cardOf(equal[0])]);
  expect(shown.out).toContain("2 more ask for the very same");
  const together = await tasks(["approve", await cardOf(equal[0]), ...seen, "--equal"]);
  expect(together).toMatchObject({ code: 0, out: expect.stringContaining("and 2 more that ask for the same") });
  for (const one of equal) expect(await rowOf(one)).toMatchObject({ status: "approved" });
});

test("choices that cannot be are refused before anything is decided, each with its exit code", async () => {
  const asked = await givenMail(sql, world);
  const card = await cardOf(asked);
  const seen = ["approve", card, "--digest", asked.argsDigest];
  const file = join(data, "wrong.json");
  await writeFile(file, "not json");
  for (const [more, code] of [
    [["--unit", "ann@example.com"], 2],
    [["--whole"], 2],
    [["--for", "ever"], 2],
    [["--for", "run", "--whole", "--unit", "ann@example.com"], 2],
    [["--edit", file], 2],
    [["--edit", join(data, "nowhere.json")], 2],
    [["--for", "workspace"], 3],
    [["--option", "a"], 2],
  ] as const)
    expect({ more, code: (await tasks([...seen, ...more])).code }).toEqual({ more, code });
  expect(await rowOf(asked)).toMatchObject({ status: "pending" });
});

test("a verb that a closed task does not take says that it is closed, and of no way to close it", async () => {
  const task = "0199c0de-0000-7000-8000-000000000001";
  await sql`
    insert into tasks (id, workspace_id, kind, section, title, status, created_by, resolved_at)
    values (${task}, ${world.workspaceId}, 'task', 'Inbox', 'Tidy up', 'done', 'system', clock_timestamp())`;
  const denied = await tasks(["deny", task]);
  expect(denied).toMatchObject({
    code: 2,
    error: expect.stringContaining("cannot be denied; it is done: ./countersign"),
  });
});

test("what a remembered answer holds is shown before it is given, and is what the rule holds", async () => {
  const asked = await givenMail(sql, world, {
    card: { tool: "mail.send", units: ["Ann"], remembers: ["ann@example.com"] },
  });
  const card = await cardOf(asked);
  const approved = await tasks(["approve", card, "--digest", asked.argsDigest, "--for", "run"]);
  expect(approved).toMatchObject({ code: 0, out: expect.stringContaining("Remembered for the run: ann@example.com") });
  expect(await sql`select entries from rules where scope_id = ${asked.runId}`).toEqual([
    { entries: [{ kind: "unit", unit: "ann@example.com" }] },
  ]);
});

test(
  "a quorum's votes are told, a say is handed over and taken back, and the receipt names them all",
  { timeout: 180_000 },
  async () => {
    await setApprovers(sql, world, { quorum: 2, delegation: "allow" });
    const asked = await givenMail(sql, world);
    const card = await cardOf(asked);
    const approve = ["approve", card, "--digest", asked.argsDigest];
    const voted = await tasks(approve);
    expect(voted).toMatchObject({
      code: 0,
      out: expect.stringContaining("your vote counts: 1 of the 2 that are needed"),
    });
    expect((await tasks(["show", card])).out).toContain("2 people have to approve; Abe Approver approve");

    expect(await tasks(approve, "operator")).toMatchObject({ code: 3 });
    const handed = await tasks(["delegate", "Olga Operator", "--for", "2h", "--task", card, "--json"], "otherApprover");
    expect(handed).toMatchObject({ code: 0 });
    const { id } = JSON.parse(handed.out) as { id: string };
    const decided = await tasks(approve, "operator");
    expect(decided).toMatchObject({
      code: 0,
      out: expect.stringContaining("approved by Olga Operator for Ann Approver"),
    });
    expect(await rowOf(asked)).toMatchObject({ decided_by: world.operator, decided_for: world.otherApprover });
    expect((await tasks(["delegations"], "otherApprover")).out).toContain("Olga Operator on the say of Ann Approver");
    expect((await tasks(["delegations"], "otherApprover")).out).not.toContain(id);
    expect(await tasks(["take-back", id.slice(-8)], "otherApprover")).toMatchObject({ code: 0 });

    const receipt = await tasks(["receipt", card]);
    expect(receipt).toMatchObject({
      code: 0,
      out: expect.stringContaining("The card is the one that was shown each time."),
    });
    for (const who of ["Abe Approver", "Olga Operator"]) expect(receipt.out).toContain(who);
    await sql`update approvals set card = '{}' where id = ${asked.approvalId}`;
    expect(await tasks(["receipt", card])).toMatchObject({ code: 1 });
  },
);

test("extend moves the deadline, and says where there is none", async () => {
  const asked = await givenMail(sql, world, { expiresMs: 60_000 });
  const card = await cardOf(asked);
  const [before] = await sql<{ at: Date }[]>`select expires_at as at from approvals where id = ${asked.approvalId}`;
  expect(await tasks(["extend", card, "--by", "2h"])).toMatchObject({ code: 0 });
  const [after] = await sql<{ at: Date }[]>`select expires_at as at from approvals where id = ${asked.approvalId}`;
  expect((after?.at.getTime() ?? 0) - (before?.at.getTime() ?? 0)).toBe(7_200_000);
  expect(await tasks(["extend", card, "--by", "soon"])).toMatchObject({ code: 2 });
  expect(await tasks(["extend", await cardOf(await givenMail(sql, world)), "--by", "2h"])).toMatchObject({ code: 2 });
});

test("what was approved often is suggested as a rule, with the command that sets it", async () => {
  for (let n = 0; n < 3; n += 1) {
    const asked = await givenMail(sql, world);
    await sendDecision({ url: address }, world.tokens.approver, asked, { answer: "approve" });
  }
  const rules = (...args: string[]): Promise<Answer> => run(world.tokens.admin, ["rules", ...args]);
  const { out } = await rules("suggest");
  expect(out).toContain("3 fewer prompts");
  const command = out.split("\n").find((line) => line.includes("./countersign rules set"));
  expect(command?.trim()).toBe("./countersign rules set tool:mail.send allow --unit ann@example.com");
  const set = await run(world.tokens.admin, command?.trim().split(" ").slice(1) ?? []);
  expect(set).toMatchObject({ code: 0 });
  expect((await rules("suggest")).out).toContain("Nothing to suggest");
});
