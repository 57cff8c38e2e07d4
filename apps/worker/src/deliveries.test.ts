import { createHmac, randomUUID as newId } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadKeyring, loadLiveKeyring, loadOrMakeKey, makeKeyring, replaceKey } from "@countersign/broker/keyring.ts";
import { createProcessSecrets } from "@countersign/broker/process-secrets.ts";
import { resealSecrets } from "@countersign/broker/rotate-keys.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { extendApproval } from "@countersign/engine/commits/extend-approval.ts";
import {
  aDecision,
  givenGatedRun,
  givenQuestionRun,
  givenRun,
  makeWorld,
  type World,
} from "@countersign/engine/testing/fixtures.ts";
import pino from "pino";
import { afterAll, expect, test } from "vitest";
import { type DeliveriesOptions, startDeliveries } from "./deliveries.ts";
import { startQueue } from "./queue.ts";
import { findEvents } from "./webhooks/find-events.ts";

const { sql, url } = await testDatabase();
const key = await loadOrMakeKey(mkdtempSync(join(tmpdir(), "countersign-keys-")));
const secret = `whsec_${Buffer.from("a signing secret of 32 bytes long").toString("base64")}`;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly message: { readonly type: string; readonly data: Record<string, string> };
}

/** Takes what is posted and answers each with the next of `statuses`, at last with 204, once `mayAnswer` resolves. */
async function startReceiver(
  statuses: number[] = [],
  location = "",
  mayAnswer: (request: IncomingHttpHeaders) => Promise<void> = async () => {},
): Promise<{ url: string; received: Received[]; close: () => void }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const message = JSON.parse(body) as Received["message"];
      received.push({ path: request.url ?? "", headers: request.headers, body, message });
      void mayAnswer(request.headers).then(() => {
        response.writeHead(statuses.shift() ?? 204, location === "" ? {} : { location });
        response.end();
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  afterAll(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, close };
}

const everything = ["approval.requested", "approval.decided", "question.asked", "run.ended"];

/** Registers an endpoint as the server does. */
async function givenEndpoint(
  world: World,
  to: string,
  events = everything,
  publicKey = key.publicKey,
): Promise<string> {
  const id = newId();
  const name = `webhook.${id}`;
  const { workspaceId } = world;
  await putSecret(sql, publicKey, { workspaceId, name, capability: name, value: secret });
  await transaction(sql, async (tx) => {
    await tx.unsafe("select from webhook_follower for update");
    await tx.unsafe(
      "insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by) values ($1, $2, $3, $4::text[], $5, $6)",
      [id, workspaceId, to, events, name, world.admin],
    );
    await tx.unsafe("update webhook_follower set snapshot = pg_current_snapshot() where snapshot is null");
  });
  return id;
}

const running: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of running.splice(0)) await stop();
});

async function deliverEverything(over: Partial<DeliveriesOptions> = {}): Promise<() => Promise<void>> {
  const log = pino({ level: "silent" });
  const boss = await startQueue(url, log);
  const deliveries = await startDeliveries({
    sql,
    boss,
    secrets: createProcessSecrets({ sql, keyring: makeKeyring([key]) }),
    log,
    mayBePrivate: true,
    pollMs: 30,
    retryDelaySeconds: 1,
    mostAttempts: 3,
    queuePollSeconds: 0.5,
    ...over,
  });
  const stop = async (): Promise<void> => {
    await deliveries.stop();
    await boss.stop();
  };
  running.push(stop);
  return async () => {
    running.splice(running.indexOf(stop), 1);
    await stop();
  };
}

function verify({ headers, body }: Received): boolean {
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  const signature = createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(signed)
    .digest("base64");
  return headers["webhook-signature"] === `v1,${signature}`;
}

interface LoggedDelivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: readonly { readonly status_code: number | null; readonly failure: string | null }[];
}

async function deliveriesOf(endpointId: string): Promise<LoggedDelivery[]> {
  return await sql<LoggedDelivery[]>`
    select d.id, d.status, coalesce((select json_agg(json_build_object('status_code', a.status_code, 'failure', a.failure) order by a.n)
                                       from webhook_attempts a where a.delivery_id = d.id), '[]') as attempts
      from webhook_deliveries d where d.endpoint_id = ${endpointId} order by d.id`;
}

test("an endpoint is told of each event it wants once, signed, with ids and nothing more", async () => {
  const world = await makeWorld(sql);
  const other = await makeWorld(sql);
  const before = await givenGatedRun(sql, world);
  const receiver = await startReceiver();
  await givenEndpoint(world, `${receiver.url}/all`);
  await givenEndpoint(world, `${receiver.url}/ends`, ["run.ended"]);
  const stop = await deliverEverything();

  const asked = await givenGatedRun(sql, world);
  await commitWithin(sql, decideApproval, aDecision(world, asked));
  const question = await givenQuestionRun(sql, world);
  await commitWithin(sql, cancelRun, {
    runId: asked.runId,
    workspaceId: world.workspaceId,
    userId: world.operator,
    reason: "enough",
  });
  await givenGatedRun(sql, other);
  await expect.poll(() => receiver.received.length, { timeout: 45_000 }).toBe(5);
  await stop();

  const told = receiver.received.map(({ path, message }) => `${path} ${message.type}`).toSorted();
  expect(told).toEqual([
    "/all approval.decided",
    "/all approval.requested",
    "/all question.asked",
    "/all run.ended",
    "/ends run.ended",
  ]);
  expect(receiver.received.every(verify)).toBe(true);
  const bodies = receiver.received.map(({ body }) => body).join();
  expect(bodies).not.toContain("mail.send");
  expect(bodies).not.toContain(before.runId);
  const decided = receiver.received.find(({ message }) => message.type === "approval.decided");
  expect(decided?.message.data).toMatchObject({ approvalId: asked.approvalId, runId: asked.runId, status: "approved" });
  expect(receiver.received.find(({ message }) => message.type === "question.asked")?.message.data).toMatchObject({
    questionId: question.questionId,
  });
});

test("what is not accepted is sent again later under the same id, and given up at last; each attempt is on record", async () => {
  const world = await makeWorld(sql);
  const recovers = await startReceiver([500, 503]);
  const never = await startReceiver([500, 500, 500, 500]);
  const fine = await givenEndpoint(world, recovers.url, ["run.ended"]);
  const broken = await givenEndpoint(world, never.url, ["run.ended"]);
  const stop = await deliverEverything();
  const runId = await givenRun(sql, world);
  await cancel(world, runId);
  await expect
    .poll(async () => [...(await deliveriesOf(fine)), ...(await deliveriesOf(broken))].map(({ status }) => status), {
      timeout: 45_000,
    })
    .toEqual(["delivered", "failed"]);
  await stop();
  const ids = recovers.received.map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size).toBe(1);
  expect((await deliveriesOf(fine))[0]?.attempts.map(({ status_code: code }) => code)).toEqual([500, 503, 204]);
  expect((await deliveriesOf(broken))[0]?.attempts).toHaveLength(3);
  expect(recovers.received.every(verify)).toBe(true);
});

async function cancel(world: World, runId: string): Promise<void> {
  const { workspaceId, operator: userId } = world;
  await commitWithin(sql, cancelRun, { runId, workspaceId, userId, reason: "test" });
}

test("UI23: nothing leaves for a private address, even where its endpoint was registered before, and no redirect is followed", async () => {
  const world = await makeWorld(sql);
  const inside = await startReceiver();
  const redirects = await startReceiver([307, 302, 301], `${inside.url}/inside`);
  const toPrivate = await givenEndpoint(world, inside.url, ["run.ended"]);
  const toLocalName = await givenEndpoint(world, inside.url.replace("127.0.0.1", "localhost"), ["run.ended"]);
  const runId = await givenRun(sql, world);
  let stop = await deliverEverything({ mayBePrivate: false, mostAttempts: 1 });
  await cancel(world, runId);
  const statuses = async (id: string): Promise<string[]> => (await deliveriesOf(id)).map(({ status }) => status);
  await expect.poll(() => statuses(toPrivate), { timeout: 45_000 }).toEqual(["failed"]);
  await expect.poll(() => statuses(toLocalName), { timeout: 45_000 }).toEqual(["failed"]);
  await stop();
  expect((await deliveriesOf(toPrivate))[0]?.attempts[0]?.failure).toMatch(/^not sent: /);

  await sql`update webhook_endpoints set disabled_at = clock_timestamp()`;
  const toRedirect = await givenEndpoint(world, redirects.url, ["run.ended"]);
  stop = await deliverEverything({ mostAttempts: 1 });
  await cancel(world, await givenRun(sql, world));
  await expect.poll(() => statuses(toRedirect), { timeout: 45_000 }).toEqual(["failed"]);
  await stop();
  expect(redirects.received).toHaveLength(1);
  expect(inside.received).toHaveLength(0);
});

test("a delivery whose record cannot be written makes no other of its batch go out twice", async () => {
  const world = await makeWorld(sql);
  const isTold = Promise.withResolvers<void>();
  let culprit: string | undefined;
  const receiver = await startReceiver([], "", async ({ "webhook-id": id }) => {
    if (id !== culprit) await isTold.promise;
  });
  const endpoint = await givenEndpoint(world, receiver.url, ["run.ended"]);
  const runIds = [await givenRun(sql, world), await givenRun(sql, world), await givenRun(sql, world)];
  for (const runId of runIds) await cancel(world, runId);
  await findEvents(sql);
  const [first, ...others] = (await deliveriesOf(endpoint)).map(({ id }) => id);
  culprit = first;
  await sql.unsafe(`alter table webhook_attempts add constraint refuse_one check (delivery_id <> '${culprit}')`);
  const log = pino({ level: "warn" }, { write: (line) => line.includes("a delivery failed") && isTold.resolve() });
  const stop = await deliverEverything({ log });
  const sends = (id = ""): number => receiver.received.filter(({ headers }) => headers["webhook-id"] === id).length;
  // Tried again: by then its first batch is over.
  await expect.poll(() => sends(culprit), { timeout: 45_000 }).toBeGreaterThan(1);
  await stop();
  await sql`alter table webhook_attempts drop constraint refuse_one`;
  expect(others.map((id) => sends(id))).toEqual([1, 1]);
  expect((await deliveriesOf(endpoint)).map(({ status }) => status)).toEqual(["pending", "delivered", "delivered"]);
});

test("an endpoint that answers 410 is turned off; one that is turned off is sent nothing that was under way", async () => {
  const world = await makeWorld(sql);
  const receiver = await startReceiver([410]);
  const endpoint = await givenEndpoint(world, receiver.url, ["run.ended"]);
  const stop = await deliverEverything();
  await cancel(world, await givenRun(sql, world));
  await expect.poll(async () => (await deliveriesOf(endpoint))[0]?.status, { timeout: 45_000 }).toBe("failed");
  await cancel(world, await givenRun(sql, world));
  await findEvents(sql);
  await stop();
  expect(receiver.received).toHaveLength(1);
  const [row] = await sql<
    { disabled_reason: string }[]
  >`select disabled_reason from webhook_endpoints where id = ${endpoint}`;
  expect(row?.disabled_reason).toContain("410");
});

test("two processes that look at the same changes make one delivery of each, and a card decided at once is told twice", async () => {
  const world = await makeWorld(sql);
  const endpoint = await givenEndpoint(world, "http://127.0.0.1:1", everything);
  const runs = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const asked = await givenRun(sql, world);
      return asked;
    }),
  );
  const looking = Array.from({ length: 20 }, async () => await findEvents(sql));
  for (const runId of runs) await cancel(world, runId);
  await Promise.all(looking);
  const asked = await givenGatedRun(sql, world);
  await commitWithin(sql, decideApproval, aDecision(world, asked));
  await findEvents(sql);
  await findEvents(sql);
  const told = await sql<{ event: string; n: number }[]>`
    select event, count(*)::int as n from webhook_deliveries where endpoint_id = ${endpoint} group by event order by event`;
  expect(told).toEqual([
    { event: "approval.decided", n: 1 },
    { event: "approval.requested", n: 1 },
    { event: "run.ended", n: 5 },
  ]);
});

test("UI26: a change that commits after a later one was told is told too", async () => {
  const world = await makeWorld(sql);
  const endpoint = await givenEndpoint(world, "http://127.0.0.1:1", ["run.ended"]);
  const [first, second] = [await givenRun(sql, world), await givenRun(sql, world)];
  const taken = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const { workspaceId, operator: userId } = world;
  const slow = transaction(sql, async (tx) => {
    await commitWithin(tx, cancelRun, { runId: first, workspaceId, userId, reason: "slow" });
    taken.resolve();
    await go.promise;
  });
  await taken.promise;
  await cancel(world, second);
  await findEvents(sql);
  const subjects = async (): Promise<string[]> => {
    const rows = await sql<
      { subject: string }[]
    >`select subject from webhook_deliveries where endpoint_id = ${endpoint} order by id`;
    return rows.map(({ subject }) => subject);
  };
  expect(await subjects()).toEqual([second]);
  go.resolve();
  await slow;
  await findEvents(sql);
  expect(await subjects()).toEqual([second, first]);
});

test("while no endpoint is enabled nothing is kept up with, and the next endpoint is told only of what comes after it", async () => {
  await sql`update webhook_endpoints set disabled_at = coalesce(disabled_at, clock_timestamp())`;
  await findEvents(sql);
  expect(await sql`select 1 from webhook_follower where snapshot is null`).toHaveLength(1);
  const world = await makeWorld(sql);
  await cancel(world, await givenRun(sql, world));
  const endpoint = await givenEndpoint(world, "http://127.0.0.1:1", ["run.ended"]);
  await cancel(world, await givenRun(sql, world));
  await findEvents(sql);
  expect(await deliveriesOf(endpoint)).toHaveLength(1);
});

test("KN28: after the master key was replaced, a worker that runs on signs what it sends with the secrets sealed anew", async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-keys-"));
  const { keyring, refresh: refreshKeyring, current } = await loadLiveKeyring(folder);
  const world = await makeWorld(sql);
  const receiver = await startReceiver();
  const endpointId = await givenEndpoint(world, receiver.url, ["run.ended"], current.publicKey);
  const stop = await deliverEverything({ secrets: createProcessSecrets({ sql, keyring, refreshKeyring }) });
  const fresh = await replaceKey(folder);
  await resealSecrets(sql, (await loadKeyring(folder)).keyring, fresh.publicKey);

  const runId = await givenRun(sql, world);
  const { workspaceId, operator: userId } = world;
  await commitWithin(sql, cancelRun, { runId, workspaceId, userId, reason: "test" });
  await expect.poll(() => receiver.received.length, { timeout: 45_000 }).toBe(1);
  await stop();
  const opened = await sql`
    select subject from audit where workspace_id = ${workspaceId} and action = 'secret.opened'`;
  expect(opened).toEqual([{ subject: `webhook.${endpointId}` }]);
});

test("AZ40: an approval that was given more time is told of when it is reminded again, each time once", async () => {
  const world = await makeWorld(sql, { approvers: { remindBeforeMs: 1_800_000 } });
  await givenEndpoint(world, "http://127.0.0.1:1", ["approval.reminded"]);
  const { runId, approvalId, callId } = await givenGatedRun(sql, world, { expiresMs: 3_600_000 });
  const told = async (): Promise<number> => {
    await findEvents(sql);
    return (await sql`select from webhook_deliveries where subject = ${approvalId}`).length;
  };
  const remind = async (): Promise<void> => {
    await sql`update approvals set remind_at = clock_timestamp() where id = ${approvalId}`;
    await sql`update tool_calls set notice_at = clock_timestamp() where id = ${callId}`;
    await sql`update runs set wake_at = clock_timestamp() where id = ${runId}`;
    await expireWaits(sql, 10);
  };
  await remind();
  expect(await told()).toBe(1);
  const { workspaceId, approver: userId } = world;
  const until = new Date(Date.now() + 9_000_000);
  await commitWithin(sql, extendApproval, { runId, approvalId, workspaceId, userId, until });
  expect(await told()).toBe(1);
  await remind();
  expect(await told()).toBe(2);
  await commitWithin(sql, decideApproval, aDecision(world, { runId, approvalId }));
  expect(await told()).toBe(2);
});
