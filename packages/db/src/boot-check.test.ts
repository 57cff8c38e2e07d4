import { afterAll, expect, test } from "vitest";
import { checkServer, checkTables } from "./boot-check.ts";
import { connect, type Sql } from "./connect.ts";
import { migrate } from "./migrate.ts";
import { testDatabase } from "./testing/test-database.ts";

const { sql, url } = await testDatabase();
const databases: string[] = [];
const pools: Sql[] = [];
const role = `outsider_${process.pid}`;

afterAll(async () => {
  for (const pool of pools) await pool.end({ timeout: 1 });
  for (const name of databases) await sql`drop database if exists ${sql(name)} with (force)`;
  await sql`drop role if exists ${sql(role)}`;
});

function at(change: (address: URL) => void): Sql {
  const address = new URL(url);
  change(address);
  const made = connect(address.href, { max: 1 });
  pools.push(made);
  return made;
}

test("the server that the tests use passes", async () => {
  await checkServer(sql);
});

test("a server that does not answer is named with host, port and user, never with the password", async () => {
  const attempt = checkServer(at((address) => Object.assign(address, { port: "1", password: "swordfish" })));
  await expect(attempt).rejects.toMatchObject({ name: "BootRefusal", code: "unreachable" });
  await expect(attempt).rejects.toThrow(/:1 \(user .+, database .+\): .*ECONNREFUSED/);
  await expect(attempt).rejects.not.toThrow("swordfish");
});

test("whom the server does not know, and an unknown database, are refused access, not a missing server", async () => {
  const stranger = checkServer(
    at((address) => Object.assign(address, { username: `nobody_${role}`, password: "swordfish" })),
  );
  await expect(stranger).rejects.toMatchObject({ code: "access_denied" });
  await expect(stranger).rejects.not.toThrow("swordfish");
  const unknown = checkServer(at((address) => (address.pathname = "/not_there")));
  await expect(unknown).rejects.toMatchObject({ code: "access_denied" });
  await expect(unknown).rejects.toThrow("not_there");
});

test("a server older than the minimum is refused with both versions", async () => {
  const attempt = checkServer(sql, { minimumVersion: 99 });
  await expect(attempt).rejects.toMatchObject({ code: "server_too_old" });
  await expect(attempt).rejects.toThrow("version 99 or newer");
});

test("a locale that does not fold the case of É is refused, with the statement that makes a good database", async () => {
  const name = `${new URL(url).pathname.slice(1)}_c`;
  databases.push(name);
  await sql`create database ${sql(name)} template template0 encoding 'UTF8' locale 'C'`;
  const attempt = checkServer(at((address) => (address.pathname = `/${name}`)));
  await expect(attempt).rejects.toMatchObject({ code: "no_case_folding" });
  await expect(attempt).rejects.toThrow(
    `create database "${name}" template template0 encoding 'UTF8' locale 'C.UTF-8'`,
  );
});

test("a user who may not create tables is refused, with the grant that is missing", async () => {
  await sql`create role ${sql(role)} login password 'outside'`;
  const outside = at((address) => {
    address.username = role;
    address.password = "outside";
  });
  const attempt = checkServer(outside);
  await expect(attempt).rejects.toMatchObject({ code: "no_create_right" });
  await expect(attempt).rejects.toThrow(`grant create, usage on schema "public" to "${role}"`);
});

test("a database without our tables is refused, and so is one that an older program has migrated", async () => {
  await checkTables(sql);
  const name = `${new URL(url).pathname.slice(1)}_older`;
  databases.push(name);
  await sql`create database ${sql(name)} template template0 encoding 'UTF8' locale 'C.UTF-8'`;
  const older = at((address) => (address.pathname = `/${name}`));
  await expect(checkTables(older)).rejects.toMatchObject({ code: "no_tables" });
  await migrate(older);
  await checkTables(older);
  const [last] = await older<[{ name: string }]>`
    delete from migrations where name = (select max(name) from migrations) returning name`;
  await older`delete from functions where name like '%claim-runs.sql'`;
  await expect(checkTables(older)).rejects.toMatchObject({ code: "older_tables" });
  await expect(checkTables(older)).rejects.toThrow(`it has not got ${last.name} and 1 more. Run ./countersign migrate`);
  await older`insert into migrations (name, sha256) values ('9999_newer.sql', 'of a newer program')`;
  await checkTables(older);
});
