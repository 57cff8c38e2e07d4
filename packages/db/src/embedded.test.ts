import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { connect } from "./connect.ts";
import { serverBinaries } from "./embedded-binaries.ts";
import { startEmbedded, stopEmbedded } from "./embedded.ts";

const root = join(import.meta.dirname, "../../../.test-data");
const isRoot = process.getuid?.() === 0;
const folders: string[] = [];
const children: ChildProcess[] = [];

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) {
    await stopEmbedded(folder);
    rmSync(folder, { recursive: true, force: true });
  }
});

function newFolder(): string {
  const folder = join(root, `embedded-${randomBytes(4).toString("hex")}`);
  mkdirSync(folder, { recursive: true });
  folders.push(folder);
  return folder;
}

// Most tests only start and stop: they share one cluster, in whatever state the one before has left it.
const shared = newFolder();

async function ask<T>(url: string, question: string): Promise<T | undefined> {
  const sql = connect(url, { max: 1 });
  try {
    const [row] = await sql.unsafe<{ answer: T }[]>(`select (${question}) as answer`);
    return row?.answer;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function run(url: string, statement: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  await sql.unsafe(statement);
  await sql.end({ timeout: 1 });
}

/** Another process that has started the server in `folder` and is still there. */
async function holder(folder: string, options: SpawnOptions = {}) {
  const program = join(import.meta.dirname, "testing/hold-embedded.ts");
  const child = spawn(process.execPath, [program, folder], { ...options, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const exited = once(child, "exit");
  let output = "";
  for await (const chunk of child.stdout ?? []) {
    output += String(chunk);
    if (output.includes("\n")) break;
  }
  const { url, reused } = JSON.parse(output) as { url: string; reused: boolean };
  const end = async (signal: NodeJS.Signals, target = child.pid) => {
    if (target !== undefined) process.kill(target, signal);
    await exited;
  };
  return { url, reused, pid: child.pid ?? 0, end };
}

function serverPid(folder: string): number {
  return Number(readFileSync(join(folder, "cluster/data/postmaster.pid"), "utf8").split("\n")[0]);
}

test("the first start makes a durable UTF-8 cluster that asks for its password", async () => {
  const server = await startEmbedded({ dataDir: shared });
  expect(server.reused).toBe(false);
  expect(Date.now() - server.startedAt.getTime()).toBeLessThan(20_000);
  const settings = await ask(
    server.url,
    `json_build_object('encoding', current_setting('server_encoding'), 'folds', lower('É') = 'é', 'fsync', current_setting('fsync'),
       'commit', current_setting('synchronous_commit'), 'connections', current_setting('max_connections'),
       'address', current_setting('listen_addresses'), 'libraries', current_setting('shared_preload_libraries'))`,
  );
  expect(settings).toEqual({
    encoding: "UTF8",
    folds: true,
    fsync: "on",
    commit: "on",
    connections: "200",
    address: "127.0.0.1",
    libraries: "pg_stat_statements",
  });
  expect(statSync(join(shared, "cluster/password")).mode & 0o777).toBe(0o600);
  const stranger = new URL(server.url);
  stranger.password = "guess";
  await expect(ask(stranger.href, "1")).rejects.toMatchObject({ code: "28P01" });
  await run(server.url, "create table kept (n int); insert into kept values (1)");
});

test("a second start finds the running server and uses it", async () => {
  const first = await startEmbedded({ dataDir: shared });
  const second = await startEmbedded({ dataDir: shared });
  expect(second).toMatchObject({ url: first.url, reused: true, startedAt: first.startedAt });
});

test("stop ends it in good order, once is enough, and the data are there at the next start", async () => {
  const server = await startEmbedded({ dataDir: shared });
  const other = connect(server.url, { max: 1 });
  await other`select 1`;
  await server.stop();
  await server.stop();
  await other.end({ timeout: 1 });
  expect(readFileSync(join(shared, "postgres.log"), "utf8").trim()).toMatch(/database system is shut down$/);
  const next = await startEmbedded({ dataDir: shared });
  expect(next.reused).toBe(false);
  expect(await ask(next.url, "select count(*) from kept")).toBe(1);
  expect(readFileSync(join(shared, "postgres.log"), "utf8")).not.toContain("not properly shut down");
  await next.stop();
});

test("Ctrl-C in its parent's terminal does not reach the server", async () => {
  const parent = await holder(shared, { detached: true });
  await parent.end("SIGINT", -parent.pid);
  expect(await ask(parent.url, "1")).toBe(1);
});

test("a server whose parent was killed is found and used again", async () => {
  await stopEmbedded(shared);
  const parent = await holder(shared);
  expect(parent.reused).toBe(false);
  await parent.end("SIGKILL");
  const found = await startEmbedded({ dataDir: shared });
  expect(found).toMatchObject({ reused: true, url: parent.url });
});

test("a server that was itself killed, with a client connected, starts again with what was committed", async () => {
  const server = await startEmbedded({ dataDir: shared });
  const client = connect(server.url, { max: 1 });
  await client`insert into kept values (2)`;
  process.kill(serverPid(shared), "SIGKILL");
  const next = await startEmbedded({ dataDir: shared });
  expect(next.reused).toBe(false);
  expect(await ask(next.url, "select count(*) from kept")).toBe(2);
  await client.end({ timeout: 1 });
  await next.stop();
});

test("while a child of a killed server lives, its pid file stays, and no other server starts in its data", async () => {
  const server = await startEmbedded({ dataDir: shared });
  const client = connect(server.url, { max: 1 });
  const child = Number((await client`select pg_backend_pid() as pid`)[0]?.["pid"]);
  // A stopped process does not notice that its server is gone.
  process.kill(child, "SIGSTOP");
  const killed = serverPid(shared);
  process.kill(killed, "SIGKILL");
  let isStarted = false;
  const next = startEmbedded({ dataDir: shared }).finally(() => (isStarted = true));
  const seen = new Set<number>();
  for (let n = 0; n < 40; n += 1) {
    seen.add(serverPid(shared));
    await new Promise((done) => setTimeout(done, 25));
  }
  expect([isStarted, [...seen]]).toEqual([false, [killed]]);
  process.kill(child, "SIGKILL");
  expect((await next).reused).toBe(false);
  await client.end({ timeout: 1 });
  await (await next).stop();
});

test("a pid file left by a crash is not believed, even when its number is somebody else's by now", async () => {
  for (const pid of [process.pid, 4_194_000]) {
    writeFileSync(join(shared, "cluster/data/postmaster.pid"), `${pid}\n${shared}\n1\n5432\n\n127.0.0.1\n\nready\n`);
    const server = await startEmbedded({ dataDir: shared });
    expect(server.reused).toBe(false);
    expect(await ask(server.url, "select count(*) from kept")).toBe(2);
    await server.stop();
  }
});

test("two processes that start at once in a new folder share one server", async () => {
  const folder = newFolder();
  const parents = await Promise.all([holder(folder), holder(folder)]);
  expect(parents[0].url).toBe(parents[1].url);
  expect(parents.filter((parent) => parent.reused)).toHaveLength(1);
  expect(await ask(parents[0].url, "1")).toBe(1);
  await Promise.all(parents.map((parent) => parent.end("SIGTERM")));
});

test("an ordinary user can start it too", async () => {
  const folder = newFolder();
  if (isRoot) chownSync(folder, 65_534, 65_534);
  const parent = await holder(folder, isRoot ? { uid: 65_534, gid: 65_534 } : {});
  expect(await ask(parent.url, "1")).toBe(1);
  await parent.end("SIGTERM");
});

test("where no user namespace can be made, root has it run by an unprivileged user", async () => {
  const folder = newFolder();
  const parent = await holder(folder, { env: { PATH: "/nowhere" } });
  expect(await ask(parent.url, "1")).toBe(1);
  expect(statSync(join(folder, "cluster/data")).uid).toBe(isRoot ? 65_534 : process.getuid?.());
  await parent.end("SIGTERM");
});

test("on other platforms the message says to set DATABASE_URL", () => {
  expect(() => serverBinaries("darwin-arm64")).toThrow(/no embedded PostgreSQL for darwin-arm64. Set DATABASE_URL/);
});
