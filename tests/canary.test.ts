import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { decidePending } from "@countersign/engine/testing/driver.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Canary, findLeaks, formsOf, readEveryColumn, type Trace } from "./support/canary-oracle.ts";
import { capabilities, tools as leakingTools } from "./support/canary-tools.ts";
import { canaries, canaryValues } from "./support/canary-values.ts";
import {
  type EchoServer,
  httpFailures,
  type SmtpFailure,
  startEchoHttp,
  startEchoImap,
  startEchoSmtp,
} from "./support/echo-servers.ts";
import { startProcess, type TestProcess } from "./support/processes.ts";
import { repositoryRoot } from "./support/repository.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const smtpFailures: readonly SmtpFailure[] = [
  "none",
  "greeting",
  "AUTH",
  "MAIL",
  "RCPT",
  "DATA",
  "end",
  "dropped",
  "silent",
];
const hookTools = httpFailures.flatMap((kind) => [`hook.${kind}`, `hook-once.${kind}`]);
const catalog = createCatalog({ osExec: { user: "same", environment: {} } }).map(({ name }) => name);
const toolset = [...catalog, ...leakingTools.map(({ name }) => name), ...hookTools];

const servers: EchoServer[] = [];
const runs = new Map<string, World>();
let data: string;
let worker: TestProcess;
let server: TestProcess;

async function serve(starting: Promise<EchoServer>): Promise<EchoServer> {
  const started = await starting;
  servers.push(started);
  return started;
}

async function start(world: World, scenario: string): Promise<string> {
  const grants = ["mail.send", "canary.hook", ...capabilities];
  const runId = await givenRun(sql, world, { input: JSON.stringify(scenario), title: scenario, grants });
  runs.set(runId, world);
  return runId;
}

/** Approves whatever is asked, until every run has ended or waits for what only a person can tell. */
async function settle(): Promise<void> {
  for (const deadline = performance.now() + 100_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const pending = await sql<{ id: string; runId: string; version: number; argsHash: string }[]>`
      select id, run_id as "runId", version, args_hash as "argsHash" from approvals
       where status = 'pending' and kind = 'approval' and run_id = any (${[...runs.keys()]})`;
    for (const { id, runId, version, argsHash } of pending) {
      const over = { approvalId: id, version, argsHash };
      await decidePending(sql, runs.get(runId) as World, runId, "approve", over);
    }
    const moving = await sql<{ title: string; status: string }[]>`
      select title, status from runs
       where id = any (${[...runs.keys()]}) and status in ('queued', 'running')
          or waits_on = 'approval'`;
    if (moving.length === 0 && pending.length === 0) return;
    if (performance.now() > deadline) throw new Error(`These runs did not come to rest: ${JSON.stringify(moving)}`);
  }
}

/** Secrets that this installation has of its own. */
async function ownSecrets(): Promise<Canary[]> {
  const keys = await Promise.all(
    ["broker-key.private.json", "audit-key.private.json"].map(async (file) => {
      const { d } = JSON.parse(await readFile(join(data, file), "utf8")) as { d: string };
      return { name: file, value: d };
    }),
  );
  return [...keys, { name: "database password", value: new URL(url).password }];
}

beforeAll(async () => {
  data = await mkdtemp(join(repositoryRoot, ".test-data", "canary-"));
  // Rows of this table go when their turn is recorded.
  await sql`create table deltas_seen (content text)`;
  await sql.unsafe(`
    create function keep_delta() returns trigger language plpgsql as $$ begin insert into deltas_seen values (new.content); return new; end $$;
    create trigger keep_delta after insert on deltas for each row execute function keep_delta()`);

  const http = await serve(startEchoHttp(canaryValues.hook));
  const declared = hookTools.map((name) => ({
    name,
    description: name,
    url: `http://127.0.0.1:${http.port}/${name.split(".")[1] ?? ""}`,
    schema: { type: "object", properties: {} },
    signedBy: "canary.hook",
    effect: name.startsWith("hook-once") ? "once" : "read-only",
    tier: "read",
    risk: "low",
    needsApproval: false,
    timeoutMs: 1_500,
  }));
  await writeFile(join(data, "hooks.tools.json"), JSON.stringify({ tools: declared }));

  const ownTools = [join(import.meta.dirname, "support/canary-tools.ts"), join(data, "hooks.tools.json")].join(",");

  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset });
  worker = startProcess(join(import.meta.dirname, "support/canary-worker.ts"), {
    DATABASE_URL: url,
    COUNTERSIGN_DATA: data,
    COUNTERSIGN_WORKSPACE: world.workspaceId,
    COUNTERSIGN_OS_EXEC: "same-user",
    COUNTERSIGN_TOOLS: ownTools,
    LOG_LEVEL: "trace",
    SLACK_BOT_TOKEN: canaryValues.environment,
  });
  server = startProcess(join(repositoryRoot, "apps/server/src/main.ts"), {
    DATABASE_URL: url,
    COUNTERSIGN_DATA: data,
    COUNTERSIGN_TOOLS: ownTools,
    PORT: "0",
    LOG_LEVEL: "trace",
  });
  const [address] = await Promise.all([
    server.waitFor((line) => (typeof line["url"] === "string" ? line["url"] : undefined)),
    worker.waitFor((line) => (line["msg"] === "ready" ? true : undefined)),
  ]);

  const { token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: world.admin,
    label: "test",
    mayDecide: true,
  });
  const env = { COUNTERSIGN_URL: address, COUNTERSIGN_TOKEN: token, COUNTERSIGN_DATA: data };
  const imap = await serve(startEchoImap(canaryValues.mailPass));
  const mailSecretOf = (port: number): string =>
    JSON.stringify({
      host: "127.0.0.1",
      port,
      user: "agent",
      pass: canaryValues.mailPass,
      from: "agent@example.com",
      imapHost: "127.0.0.1",
      imapPort: imap.port,
      imapSecure: false,
    });
  const smtp = await serve(startEchoSmtp("none", canaryValues.mailPass));
  for (const [capability, value] of [
    ["canary.own", canaryValues.own],
    ["canary.hook", canaryValues.hook],
    ["mail.send", mailSecretOf(smtp.port)],
  ] as const) {
    const set = await runVerb(env, ["secrets", "set", capability], `${value}\n`);
    if (set.code !== 0) throw new Error(`The secret of ${capability} could not be set: ${set.error}`);
  }

  for (const scenario of ["leaks", "doubts", "says", "sums", "hooks", "hooks-once", "fishes", "rest"])
    await start(world, scenario);
  for (const failure of smtpFailures) {
    const own = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["mail.send"] });
    const { port } = await serve(startEchoSmtp(failure, canaryValues.mailPass));
    const secret = { workspaceId: own.workspaceId, name: "mail", capability: "mail.send", value: mailSecretOf(port) };
    await putSecret(sql, await readPublicKey(data), secret);
    await start(own, "mails");
  }
  await settle();
}, 150_000);

afterAll(async () => {
  await Promise.all([worker.kill(), server.kill()]);
  await Promise.all(servers.map((one) => one.close()));
  await rm(data, { recursive: true, force: true });
});

const resultsOf = async (title: string) =>
  await sql<{ tool: string; status: string; result: string | null }[]>`
    select c.tool, c.status, c.result from tool_calls c join runs r on r.id = c.run_id where r.title = ${title} order by c.id`;

async function readTraces(): Promise<Trace[]> {
  const requests = await readFile(join(data, "requests.jsonl"), "utf8");
  return [
    ...(await readEveryColumn(sql)),
    ...requests.split("\n").map((text) => ({ where: "a model request", text })),
    ...worker.said().map((text) => ({ where: "the worker's log", text })),
    ...server.said().map((text) => ({ where: "the server's log", text })),
  ];
}

test("KN23, KN24: no value of any secret is in any column of any table, in any log line or in any model request, in any form", async () => {
  const traces = await readTraces();
  expect(traces.length).toBeGreaterThan(1_000);
  expect(findLeaks([...canaries, ...(await ownSecrets())], traces)).toEqual([]);
});

test("every tool was called, and every credential was really sent and told", async () => {
  const called = await sql<{ tool: string }[]>`select distinct tool from tool_calls`;
  expect(called.map(({ tool }) => tool)).toEqual(expect.arrayContaining(toolset));

  const mailed = servers.filter((one) => one.received().includes("AUTH PLAIN "));
  expect(mailed.length).toBeGreaterThanOrEqual(smtpFailures.length - 2);
  for (const [title, placeholder] of [
    ["leaks", "[redacted canary.own]"],
    ["hooks", "[redacted canary.hook]"],
    ["fishes", "[redacted database password]"],
    ["fishes", "[redacted master key]"],
    ["fishes", "[redacted audit key]"],
  ] as const) {
    const results = (await resultsOf(title)).map(({ result }) => result);
    expect(results.join("\n")).toContain(placeholder);
  }
  const [told] = (await resultsOf("leaks")).map(({ result }) => JSON.parse(result ?? '""') as string);
  expect(told?.match(/\[redacted canary\.own\]/g)).toHaveLength(formsOf(canaryValues.own).size);
  const shown = await sql<{ text: string }[]>`select string_agg(content, '') as text from deltas_seen`;
  expect(shown[0]?.text).toContain("[redacted canary.own]");
  const cards = await sql<{ card: string }[]>`select card from approvals`;
  expect(cards.map(({ card }) => card).join("\n")).toContain("[redacted canary.own]");
  const names = await sql<{ name: string }[]>`select name from secrets`;
  expect(names.map(({ name }) => name)).toContain("slack.send");
});
