import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { givenPeople, send } from "./testing/harness.ts";

const { sql, url } = await testDatabase();
const launcher = join(import.meta.dirname, "../../../countersign-node");

function startProcess(environment: Record<string, string>) {
  const child = spawn(launcher, [join(import.meta.dirname, "main.ts")], {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { child, exited: once(child, "exit") };
}

test.each(["SIGTERM", "SIGINT"] as const)(
  "the process serves until %s, answers what waits, and ends by itself with its connections closed",
  async (signal) => {
    const world = await givenPeople(sql);
    const runId = await givenRun(sql, world);
    const { child, exited } = startProcess({ DATABASE_URL: url, PORT: "0" });
    let serverUrl = "";
    for await (const line of createInterface(child.stdout)) {
      const entry = JSON.parse(line) as { msg: string; url?: string };
      if (entry.msg !== "listening") continue;
      serverUrl = entry.url ?? "";
      break;
    }
    child.stdout.resume();
    const server = { url: serverUrl };
    expect((await send(server, undefined, "GET", "/health/ready")).status).toBe(200);
    const polling = send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}/log?after=1&wait=30`);
    await expect
      .poll(async () => {
        const held = await sql`
          select 1 from pg_stat_activity
           where datname = current_database() and application_name = 'countersign server' and query like '%switches%'`;
        return held.length;
      })
      .toBeGreaterThan(0);
    const startedAt = performance.now();
    child.kill(signal);
    expect(await polling).toMatchObject({ status: 200, body: { lines: [], hasEnded: false } });
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    const left = await sql`
      select application_name from pg_stat_activity
       where datname = current_database() and application_name like 'countersign server%'`;
    expect(left).toHaveLength(0);
  },
);

test("an address that is taken ends the process with what to do", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const { child, exited } = startProcess({ DATABASE_URL: url, PORT: String(port) });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  expect(await exited).toEqual([1, null]);
  expect(errors).toContain(`port ${port}: another process listens there`);
  taken.close();
});

test("a database that does not answer is waited for, with a line in the log that says for what", async () => {
  const { child, exited } = startProcess({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  let said = "";
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes("\n")) break;
  }
  expect(said).toContain("waiting for the database");
  expect(said).toContain("PostgreSQL does not answer at 127.0.0.1:1");
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  expect(await exited).toEqual([null, "SIGTERM"]);
});

test("a database whose host nobody knows, or an environment that does not fit, ends the process with what to do", async () => {
  for (const [environment, expected] of [
    [{ DATABASE_URL: "postgres://nobody@nowhere.invalid/none" }, "PostgreSQL does not answer at nowhere.invalid"],
    [{ PORT: "x" }, "DATABASE_URL: is not set"],
  ] as const) {
    const { child, exited } = startProcess(environment);
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    expect(await exited).toEqual([1, null]);
    expect(errors).toContain(expected);
    expect(errors).not.toContain("    at ");
  }
});
