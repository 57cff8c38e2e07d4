import { transaction } from "@countersign/db/transaction.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";

const { sql, url } = await testDatabase();
const { run } = await givenCommandLine(url);
const tokens: Record<string, string> = {};
let world: World;
let viewerName: string;

beforeEach(async () => {
  world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  const { workspaceId, admin: userId } = world;
  for (const role of ["admin", "viewer"] as const) {
    tokens[role] = (await createToken(sql, { workspaceId, userId: world[role], label: role, mayDecide: false })).token;
  }
  const [viewer] = await sql<{ name: string }[]>`select name from users where id = ${world.viewer}`;
  viewerName = viewer?.name ?? "";
  await transaction(sql, (tx) => createPage({ tx, workspaceId, userId }, { title: "Salaries", dir: "people/pay" }));
});

const cli = (as: string, ...args: string[]) => run(tokens[as] ?? "", ["kb", ...args]);

test("a directory is closed to everybody and opened to one person, and the rules are shown", async () => {
  expect((await cli("viewer", "read", "Salaries")).code).toBe(0);
  const closed = await cli("admin", "access", "give", "none", "--dir", "people");
  expect(closed.out).toContain("Nobody may read people and all below it.");
  expect((await cli("viewer", "read", "Salaries")).code).toBe(1);
  expect(await cli("admin", "access", "give", "read", "--dir", "/people/", "--user", viewerName)).toMatchObject({
    code: 0,
  });
  expect((await cli("viewer", "read", "Salaries")).code).toBe(0);
  const shown = (await cli("admin", "access", "show", "--dir", "people")).out;
  expect(shown).toContain("may not read");
  expect(shown).toContain(viewerName);
  const ofViewer = await cli("admin", "access", "show", "--user", viewerName, "--json");
  expect(JSON.parse(ofViewer.out)).toMatchObject([{ dir: "people", level: "read", user: { id: world.viewer } }]);
});

test("a rule is shown and taken under any spelling of its directory", async () => {
  for (const [given, asked] of [
    ["C++", "c"],
    ["(Old) Papers!", "old-papers"],
    ["ﬁnance/Löhne", "Finance/LÖHNE "],
    ["/", "//"],
  ] as const) {
    expect(await cli("admin", "access", "give", "read", "--dir", given)).toMatchObject({ code: 0 });
    for (const dir of [given, asked])
      expect(JSON.parse((await cli("admin", "access", "show", "--dir", dir, "--json")).out), dir).toHaveLength(1);
    expect(await cli("admin", "access", "take", "--dir", asked)).toMatchObject({ code: 0 });
  }
});

test("what was given is taken, and what is above it counts again", async () => {
  await cli("admin", "access", "give", "none", "--dir", "/");
  await cli("admin", "access", "give", "write", "--dir", "/", "--user", world.admin);
  const opened = await cli("admin", "access", "give", "read", "--page", "Salaries");
  expect(opened.out).toContain('Everybody may read, and nobody may change, page "Salaries".');
  expect((await cli("viewer", "read", "Salaries")).code).toBe(0);
  expect((await cli("admin", "access", "take", "--page", "Salaries")).out).toContain('page "Salaries" is gone');
  expect((await cli("viewer", "read", "Salaries")).code).toBe(1);
  const again = await cli("admin", "access", "take", "--page", "Salaries");
  expect(again).toMatchObject({
    code: 1,
    error: expect.stringContaining("There is no rule for everybody there") as string,
  });
});

test("the answer says what a rule takes away, from whom, and who keeps it", async () => {
  const give = async (...args: string[]) => (await cli("admin", "access", "give", ...args)).out;
  expect(await give("read", "--page", "Salaries", "--user", viewerName)).toContain(
    `${viewerName} may read, and may not change, page "Salaries".`,
  );
  expect(await give("write", "--dir", "people", "--user", viewerName)).toContain(
    `${viewerName} may read and change people and all below it.`,
  );
  expect(await give("none", "--dir", "people")).toContain(
    `Nobody may read people and all below it, but for ${viewerName}.`,
  );
  expect(await give("read", "--dir", "people")).toContain(
    `Everybody may read, and nobody may change, people and all below it, but for ${viewerName}.`,
  );
});

test("a level or a place that is none is refused, and so is whoever is no administrator", async () => {
  expect(await cli("admin", "access", "give", "all", "--dir", "people")).toMatchObject({ code: 2 });
  expect(await cli("admin", "access", "give", "read")).toMatchObject({ code: 2 });
  expect(await cli("admin", "access", "give", "read", "--dir", "people", "--page", "Salaries")).toMatchObject({
    code: 2,
  });
  expect(await cli("admin", "access", "give", "read", "--dir", "people", "--user", "Nobody")).toMatchObject({
    code: 2,
  });
  expect(await cli("viewer", "access", "give", "read", "--dir", "people")).toMatchObject({ code: 3 });
  expect((await cli("admin", "access", "show")).out).toContain("There is no such rule");
});

test("a run that has read closed pages is refused with whom to ask, and the list says so", async () => {
  const runId = await givenRun(sql, world, { title: "Payroll" });
  await sql`
    insert into run_reads (run_id, page_id) select ${runId}, id from pages where workspace_id = ${world.workspaceId}`;
  expect((await run(tokens["viewer"] ?? "", ["runs", "get", runId])).code).toBe(0);
  await cli("admin", "access", "give", "none", "--dir", "people");
  expect(await run(tokens["viewer"] ?? "", ["runs", "get", runId])).toMatchObject({
    code: 3,
    error: expect.stringContaining("pages that are closed to you. Ask Ada Admin, who can change access.") as string,
  });
  expect((await run(tokens["viewer"] ?? "", ["runs", "ls"])).out).toContain("Payroll (closed to you)");
});
