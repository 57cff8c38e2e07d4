import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenMail } from "@countersign/server/testing/asking.ts";
import { givenPeople } from "@countersign/server/testing/harness.ts";
import { expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const { data, runUnread } = await givenCommandLine(url);
const limit = { timeout: 60_000 };

test(
  "what is decided or changed is so though nobody reads what is said of it, and the exit code is its own",
  limit,
  async () => {
    const world = await givenPeople(sql);
    const asked = await givenMail(sql, world);
    const [row] = await sql<{ task: string }[]>`select task_id as task from approvals where id = ${asked.approvalId}`;
    const approve = ["tasks", "approve", row?.task ?? "", "--digest"];
    expect(await runUnread(world.tokens.approver, [...approve, "another"])).toMatchObject({ code: 4 });
    expect(await runUnread(world.tokens.approver, [...approve, asked.argsDigest])).toEqual({ code: 0, error: "" });
    expect(await sql`select status from approvals where id = ${asked.approvalId}`).toEqual([{ status: "approved" }]);

    const file = join(data, "rules.json");
    await writeFile(file, JSON.stringify({ rules: [{ target: { kind: "tool", name: "mail.send" }, mode: "deny" }] }));
    expect(await runUnread(world.tokens.admin, ["rules", "apply", file, "--yes"])).toEqual({ code: 0, error: "" });
    const rules = await sql`select mode from rules where scope_id = ${world.workspaceId} and revoked_at is null`;
    expect(rules).toEqual([{ mode: "deny" }]);
  },
);

test("what only reads ends in peace where nobody reads it, also what would follow for ever", limit, async () => {
  const world = await givenPeople(sql);
  const { runId } = await givenMail(sql, world);
  for (const args of [
    ["runs", "ls"],
    ["tasks", "watch"],
    ["runs", "watch", runId],
    ["audit", "export"],
  ])
    expect({ args, ...(await runUnread(world.tokens.admin, args)) }).toEqual({ args, code: 0, error: "" });
});

test("an audit that cannot be fetched is told like any other answer that does not come", limit, async () => {
  const nowhere = { COUNTERSIGN_URL: "http://127.0.0.1:1", COUNTERSIGN_TOKEN: "x" };
  for (const args of [
    ["audit", "export"],
    ["audit", "export", "--json"],
  ]) {
    const { code, error } = await runVerb(nowhere, args);
    expect(code).toBe(1);
    expect(error).toContain("The server does not answer (");
    expect(error).not.toContain("    at ");
  }
});
