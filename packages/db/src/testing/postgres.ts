import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checkServer } from "../boot-check.ts";
import { connect } from "../connect.ts";
import { startEmbedded } from "../embedded.ts";
import { migrate } from "../migrate.ts";
import { databaseUrl } from "./database-url.ts";

/** What a test file needs to make a database of its own. */
export type TestServer = { url: string; template: string; prefix: string };

declare module "vitest" {
  interface ProvidedContext {
    testServer: TestServer;
  }
}

type RunningServer = { url: string; origin: string; stop: () => Promise<void> };

/**
 * A PostgreSQL server for one test run with one migrated template database on it: TEST_DATABASE_URL where set, else a
 * container where Docker answers, else an embedded server under `.test-data/`. `stop()` leaves nothing behind.
 */
export async function startTestPostgres(
  rootDir: string,
): Promise<TestServer & { origin: string; stop: () => Promise<void> }> {
  const server = await findServer(rootDir);
  const prefix = `countersign_test_${randomUUID().slice(0, 8)}`;
  const template = `${prefix}_template`;
  try {
    await checkServerAt(server.url);
    const admin = connect(server.url, { max: 1 });
    await admin`create database ${admin(template)}`;
    await admin.end();
    const sql = connect(databaseUrl(server.url, template), { max: 1 });
    await migrate(sql);
    await sql.end();
  } catch (error) {
    await server.stop();
    throw error;
  }
  const stop = async () => {
    await dropDatabases(server.url, prefix);
    await server.stop();
  };
  return { url: server.url, template, prefix, origin: server.origin, stop };
}

async function findServer(rootDir: string): Promise<RunningServer> {
  const given = process.env["TEST_DATABASE_URL"];
  if (given) return { url: given, origin: "TEST_DATABASE_URL", stop: async () => {} };
  const container = await startContainer();
  if ("url" in container) return container;
  return startOwn(rootDir, container.whyNot);
}

async function startContainer(): Promise<RunningServer | { whyNot: string }> {
  const { PostgreSqlContainer } = await import("@testcontainers/postgresql");
  try {
    const container = await new PostgreSqlContainer("postgres:18-alpine")
      .withCommand(["postgres", "-c", "fsync=off", "-c", "max_connections=200"])
      .start();
    return {
      url: container.getConnectionUri(),
      origin: "container postgres:18-alpine",
      stop: async () => {
        await container.stop();
      },
    };
  } catch (error) {
    return { whyNot: error instanceof Error ? error.message : String(error) };
  }
}

async function startOwn(rootDir: string, whyNoContainer: string): Promise<RunningServer> {
  const dataDir = join(rootDir, ".test-data", `postgres-${process.pid}-${randomUUID().slice(0, 8)}`);
  mkdirSync(dataDir, { recursive: true });
  const orphanage = spawn(process.execPath, [join(import.meta.dirname, "stop-when-orphaned.ts"), dataDir], {
    cwd: rootDir,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  orphanage.unref();
  const server = await startEmbedded({ dataDir, durable: false });
  return {
    url: server.url,
    origin: `embedded, in ${dataDir} (no container: ${whyNoContainer})`,
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
      orphanage.stdin.end();
    },
  };
}

async function checkServerAt(url: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  try {
    await checkServer(sql);
  } finally {
    await sql.end();
  }
}

async function dropDatabases(url: string, prefix: string): Promise<void> {
  const admin = connect(url, { max: 1 });
  const left = await admin<
    { datname: string }[]
  >`select datname from pg_database where starts_with(datname, ${prefix})`;
  for (const { datname } of left) await admin`drop database if exists ${admin(datname)} with (force)`;
  await admin.end();
}
