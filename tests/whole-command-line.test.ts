import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenQuestionRun } from "@countersign/engine/testing/fixtures.ts";
import { givenMail } from "@countersign/server/testing/asking.ts";
import { givenPeople } from "@countersign/server/testing/harness.ts";
import { expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";

const { sql, url } = await testDatabase();
const { run } = await givenCommandLine(url);
const limit = { timeout: 60_000 };

test("a run is shown whole, with what waits at its end, however long it is", limit, async () => {
  const world = await givenPeople(sql);
  const { runId } = await givenMail(sql, world);
  const [row] = await sql<{ last: number }[]>`select last_seq as last from runs where id = ${runId}`;
  const end = (row?.last ?? 0) + 1_201;
  await sql`
    insert into run_log (run_id, seq, kind, content, at)
    select ${runId}, n, 'user', '"more"', clock_timestamp() from generate_series(${(row?.last ?? 0) + 1}::int, ${end - 1}::int) n`;
  await sql`
    insert into run_log (run_id, seq, kind, content, at)
    select run_id, ${end}, kind, content, at from run_log where run_id = ${runId} and kind = 'assistant' order by seq limit 1`;
  await sql`update tool_calls set turn_seq = ${end} where run_id = ${runId}`;
  await sql`update runs set last_seq = ${end} where id = ${runId}`;
  const shown = await run(world.tokens.viewer, ["runs", "get", runId]);
  expect(shown.out).toContain("mail.send waits for a countersignature");
  const told = JSON.parse((await run(world.tokens.viewer, ["runs", "get", runId, "--json"])).out) as {
    entries: { seq: number }[];
    nextAfter: number | null;
    prevBefore: number | null;
  };
  expect(told).toMatchObject({ nextAfter: null, prevBefore: null });
  expect(told.entries.length).toBeGreaterThan(1_200);
  expect(told.entries.at(-1)?.seq).toBe(end);
  expect(new Set(told.entries.map(({ seq }) => seq)).size).toBe(told.entries.length);
});

test("a list that is cut says which part of it this is, and an answer is given in one way", limit, async () => {
  const world = await givenPeople(sql);
  const { runId } = await givenQuestionRun(sql, world);
  const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
  const both = await run(world.tokens.operator, ["tasks", "answer", task?.id ?? "", "never", "--option", "1"]);
  expect(both).toMatchObject({ code: 2, error: expect.stringContaining("not both") });
  expect(await sql`select status from questions where run_id = ${runId}`).toEqual([{ status: "open" }]);

  for (const status of ["open", "done"])
    await sql`
      insert into tasks (id, workspace_id, kind, status, section, title, created_by, resolved_at, resolved_by)
      select uuidv7(), ${world.workspaceId}, 'task', ${status}, 'today', 'task ' || n, 'system',
             case when ${status} = 'done' then clock_timestamp() end, case when ${status} = 'done' then 'system' end
        from generate_series(1, 3) n`;
  const cut = async (status: string) =>
    (await run(world.tokens.viewer, ["tasks", "ls", "--status", status, "--limit", "1"])).out;
  expect(await cut("open")).toContain("these are the oldest 1.");
  expect(await cut("done")).toContain("these are the newest 1.");
});
