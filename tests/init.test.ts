import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { databaseUrl } from "@countersign/db/testing/database-url.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, describe, expect, test } from "vitest";
import type { Answer } from "./support/countersign.ts";
import { startProcess } from "./support/processes.ts";
import { repositoryRoot } from "./support/repository.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const dataDir = await mkdtemp(join(repositoryRoot, ".test-data", "init-"));
afterAll(async () => await rm(dataDir, { recursive: true, force: true }));

const environment = { DATABASE_URL: url, COUNTERSIGN_DATA: dataDir };

async function init(workspace: string, admin: string, ...more: readonly string[]): Promise<Answer> {
  return await runVerb(environment, ["init", "--workspace", workspace, "--admin", admin, ...more]);
}

async function countRows(): Promise<unknown> {
  const [row] = await sql`
    select (select count(*)::int from workspaces) as workspaces, (select count(*)::int from users)  as users,
           (select count(*)::int from tokens)     as tokens,     (select count(*)::int from policies) as policies,
           (select count(*)::int from audit)      as audit`;
  return row;
}

describe("init", () => {
  test("makes a workspace, its administrator and a token with which a server answers, and says what comes next", async () => {
    const made = await init("Acme", "Ada", "--email", "ada@example.com");
    expect(made).toMatchObject({ code: 0, error: "" });
    for (const next of ["./countersign serve", "./countersign worker", "COUNTERSIGN_URL=", "./countersign login"])
      expect(made.out).toContain(next);
    const token = /^ {2}(cs_\S+)$/m.exec(made.out)?.[1] ?? "";
    const server = startProcess(join(repositoryRoot, "apps/server/src/main.ts"), { ...environment, PORT: "0" });
    try {
      const address = await server.waitFor((line) => (typeof line["url"] === "string" ? line["url"] : undefined));
      const asker = { COUNTERSIGN_DATA: dataDir, COUNTERSIGN_URL: address, COUNTERSIGN_TOKEN: token };
      const link = await runVerb(asker, ["login"]);
      expect(link).toMatchObject({ code: 0, out: expect.stringContaining(`${address}/login#`) });
      const people = await fetch(`${address}/v1/users`, { headers: { authorization: `Bearer ${token}` } });
      expect(await people.json()).toMatchObject({ users: [{ name: "Ada", role: "admin", email: "ada@example.com" }] });
      const me = await fetch(`${address}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
      expect(await me.json()).toMatchObject({ workspace: { name: "Acme" }, mayDecide: true });
    } finally {
      await server.kill();
    }
    expect(await sql`select actor, action from audit where action <> 'login_link.created' order by id`).toMatchObject([
      { actor: "system", action: "workspace.created" },
      { actor: "system", action: "user.created" },
      { actor: "system", action: "token.created" },
    ]);
  });

  test("refuses a name that a workspace has, and makes a further one of another name", async () => {
    await init("First", "Ada");
    const before = await countRows();
    const again = await init("First", "Bea");
    expect(again).toMatchObject({ code: 4, out: "", error: expect.stringContaining('a workspace "First"') });
    expect(await countRows()).toEqual(before);
    expect(await init("Second", "Bea")).toMatchObject({ code: 0 });
  });

  test("of two at once one makes the workspace, and the other nothing", async () => {
    const codes = (await Promise.all([init("Once", "Ada"), init("Once", "Bea")])).map(({ code }) => code);
    expect(codes.toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 4]);
    const users = await sql`select from users u join workspaces w on w.id = u.workspace_id where w.name = 'Once'`;
    expect(users).toHaveLength(1);
  });

  test("leaves nothing where it fails midway", async () => {
    const before = await countRows();
    await sql`alter table tokens add constraint no_more check (label <> 'countersign init') not valid`;
    try {
      expect(await init("Half", "Ada")).toMatchObject({ code: 1 });
    } finally {
      await sql`alter table tokens drop constraint no_more`;
    }
    expect(await countRows()).toEqual(before);
  });

  test("names the option that does not fit, and needs both names", async () => {
    expect(await init(" ", "Ada")).toMatchObject({ code: 2, error: expect.stringContaining('--workspace is " "') });
    expect(await init("Blank", "")).toMatchObject({ code: 2, error: expect.stringContaining('--admin is ""') });
    const address = await init("Blank", "Ada", "--email", "ada");
    expect(address).toMatchObject({ code: 2, error: expect.stringContaining('--email is "ada"') });
    expect(await runVerb(environment, ["init", "--admin", "Ada"])).toMatchObject({ code: 2 });
  });
});

test("an address that cannot be read is told of without the password in it", async () => {
  const wrong = { ...environment, DATABASE_URL: "postgres://u:geheim/x@127.0.0.1:1/x" };
  for (const args of [["migrate"], ["init", "--workspace", "Acme", "--admin", "Ada"], ["doctor"]]) {
    const refused = await runVerb(wrong, args);
    expect(refused.code, args[0]).toBe(1);
    const told = refused.out + refused.error;
    expect(told).toContain("postgres://user:password@host/database");
    expect(told).not.toContain("geheim");
    expect(told).not.toContain("    at ");
  }
});

test("a database without our tables is refused by init, serve and worker, with what to do", async () => {
  const name = `${new URL(url).pathname.slice(1)}_bare`;
  await sql`create database ${sql(name)} template template0 encoding 'UTF8' locale 'C.UTF-8'`;
  try {
    const bare = { ...environment, DATABASE_URL: databaseUrl(url, name) };
    for (const args of [["init", "--workspace", "Acme", "--admin", "Ada"], ["serve"], ["worker"]]) {
      const refused = await runVerb(bare, args);
      expect(refused.code).toBe(1);
      expect(refused.error).toContain("has no tables of ours. Run ./countersign migrate");
      expect(refused.error).not.toContain("    at ");
    }
    const untouched = connect(bare.DATABASE_URL, { max: 1 });
    expect(await untouched`select from pg_tables where schemaname = 'public'`).toHaveLength(0);
    await untouched.end();
  } finally {
    await sql`drop database ${sql(name)} with (force)`;
  }
});
