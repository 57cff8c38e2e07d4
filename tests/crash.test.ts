import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { loadOrMakeKey } from "@countersign/broker/keyring.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import { type MailSink, startMailSink } from "./support/mail-sink.ts";
import { startProcess, type TestProcess } from "./support/processes.ts";
import { startWireProxy, type Trap, type WireProxy } from "./support/wire-proxy.ts";

const { sql, url } = await testDatabase();
const root = join(import.meta.dirname, "..");
let data: string;
let sink: MailSink;
let proxy: WireProxy;
let world: World;
let token: string;
let worker: TestProcess;
let server: TestProcess;
let address: Promise<string>;

beforeAll(async () => {
  data = await mkdtemp(join(root, ".test-data", "crash-"));
  await loadOrMakeKey(data);
  sink = await startMailSink();
  proxy = await startWireProxy(url);
  world = await makeWorld(sql, {
    name: "crash",
    model: "scripted",
    toolset: ["tasks.create", "mail.send"],
    limits: {},
  });
  const smtp = { host: "127.0.0.1", port: sink.port, from: "agent@example.com" };
  await putSecret(sql, await readPublicKey(data), {
    workspaceId: world.workspaceId,
    name: "mail",
    capability: "mail.send",
    value: JSON.stringify(smtp),
  });
  ({ token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: world.approver,
    label: "test",
    mayDecide: true,
  }));
  startWorker();
  startServer();
  await Promise.all([address, worker.waitFor(ready)]);
});

afterAll(async () => {
  await Promise.all([worker.kill(), server.kill()]);
  await proxy.close();
  await sink.close();
  await rm(data, { recursive: true });
});

function startWorker(): void {
  worker = startProcess(join(import.meta.dirname, "support/crash-worker.ts"), {
    DATABASE_URL: proxy.url,
    COUNTERSIGN_DATA: data,
    LEASE_MS: "1000",
    RENEW_MS: "300",
    SWEEP_MS: "200",
    POLL_MS: "200",
    MAX_CLAIMS: "20",
  });
}

function startServer(): void {
  server = startProcess(join(root, "apps/server/src/main.ts"), { DATABASE_URL: proxy.url, PORT: "0" });
  address = server.waitFor(listening);
}

const listening = (line: Record<string, unknown>): string | undefined =>
  typeof line["url"] === "string" ? line["url"] : undefined;
const ready = (line: Record<string, unknown>): true | undefined => (line["msg"] === "ready" ? true : undefined);

/** Asks the server until it answers, as a person's client would: the same key each time, over restarts. */
async function ask(
  path: string,
  body?: object,
  headers: object = {},
): Promise<{ status: number; body: Record<string, never> }> {
  for (;;) {
    try {
      const response = await fetch(`${await address}/v1${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** What is struck, when: at a commit of one of the two processes, or while the mail is on its way. */
type Strike =
  | { readonly process: "worker" | "server"; readonly trap: Trap }
  | { readonly process: "worker"; readonly trap: "effect" };

const commitsOfWorker: readonly (readonly [string, number])[] = [
  ["claim_runs", 1],
  ["record_turn", 1],
  ["begin_call", 1],
  ["complete_call", 1],
  ["claim_runs", 2],
  ["complete_call", 2],
  ["record_turn", 2],
];

const strikes: readonly Strike[] = [
  ...(["before", "after"] as const).flatMap((when) => [
    ...commitsOfWorker.map(([name, nth]) => ({ process: "worker", trap: { function: name, nth, when } }) as const),
    ...["start_run", "decide_approval"].map(
      (name) => ({ process: "server", trap: { function: name, nth: 1, when } }) as const,
    ),
  ]),
  { process: "worker", trap: "effect" },
];

test.each(strikes)(
  "killed at $trap of the $process and restarted, the run ends with the mail sent once, or unknown with a card",
  async ({ process: victim, trap }) => {
    const mailsBefore = sink.received.length;
    let isStruck = false;
    const strike = async (): Promise<void> => {
      isStruck = true;
      sink.onReceived = undefined;
      await (victim === "worker" ? worker : server).kill();
      if (victim === "worker") startWorker();
      else startServer();
    };
    const struck =
      trap === "effect"
        ? new Promise<void>((resolve) => {
            // The mail has arrived; the worker dies before it is told so.
            sink.onReceived = () => strike().then(resolve);
          })
        : proxy.spring(trap).then(strike);

    const started = await ask(
      "/runs",
      { definition: "agent", input: "go" },
      { "idempotency-key": `${JSON.stringify(trap)}-${victim}` },
    );
    const runId: string = started.body["id"] ?? "";
    expect(started.status, JSON.stringify(started.body)).toBeLessThan(300);

    const card = await untilSome(
      () => sql<{ id: string; version: number; args_hash: string }[]>`
    select id, version, args_hash from approvals where run_id = ${runId} and kind = 'approval' and status = 'pending'`,
    );
    const decided = await ask(
      `/approvals/${card.id}/decision`,
      { answer: "approve", argsDigest: card.args_hash },
      { "if-match": `"${card.version}"` },
    );
    expect(decided.status, JSON.stringify(decided.body)).toBe(200);

    const end = await untilSome(
      () => sql<{ status: string; waits_on: string | null }[]>`
    select status, waits_on from runs r where id = ${runId} and (status = 'completed' or waits_on = 'outcome' and lease_id is null)`,
    );
    await struck;
    expect(isStruck).toBe(true);

    const mails = sink.received.length - mailsBefore;
    if (end.status === "completed") {
      expect(mails).toBe(1);
    } else {
      expect(mails).toBeLessThanOrEqual(1);
      expect(
        await sql`select a.status, t.status as card from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId} and a.kind = 'outcome'`,
      ).toEqual([{ status: "pending", card: "open" }]);
    }
    expect(
      await sql`select count(*)::int as notes from tasks where kind = 'task' and created_by = ${`run:${runId}`}`,
    ).toEqual([{ notes: 1 }]);
    expect(
      await sql`select count(*)::int as decisions from audit where run_id = ${runId} and action = 'approval.decided'`,
    ).toEqual([{ decisions: 1 }]);
    expect(await findViolations(sql)).toEqual([]);
  },
  30_000,
);

test("both processes end in good order when they are told to", async () => {
  await Promise.all([address, worker.waitFor(ready)]);
  expect(await Promise.all([worker.stop(), server.stop()])).toEqual([0, 0]);
});

async function untilSome<T>(look: () => Promise<readonly T[]>): Promise<T> {
  for (;;) {
    const [found] = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
