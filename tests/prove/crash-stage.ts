import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { loadOrMakeKey } from "@countersign/broker/keyring.ts";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { recoverRuns } from "@countersign/engine/commits/recover-runs.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { parseConfig as parseServerConfig } from "@countersign/server/config.ts";
import { type RunningServer, startServer } from "@countersign/server/serve.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { parseConfig as parseWorkerConfig } from "@countersign/worker/config.ts";
import { type RunningWorker, work } from "@countersign/worker/work.ts";
import { pino } from "pino";
import { type MailSink, startMailSink } from "../support/mail-sink.ts";
import { startProcess, type TestProcess } from "../support/processes.ts";
import { repositoryRoot } from "../support/repository.ts";
import { proofModel } from "./scenarios.ts";
import { type MailProxy, startMailProxy } from "./mail-proxy.ts";
import { type MessageProxy, startMessageProxy } from "./message-proxy.ts";

export type Role = "worker" | "server";

/** A process that is to be killed, started and ready. */
export interface Victim {
  readonly process: TestProcess;
  /** Where it answers, if it is a server. */
  readonly url: string;
}

/** All that the scenario of the crash proof plays on. What is not a victim runs in this process and outlives every point. */
export interface Stage {
  readonly sql: Sql;
  readonly token: string;
  readonly sink: MailSink;
  readonly messages: MessageProxy;
  readonly mails: MailProxy;
  readonly server: RunningServer;
  /** A process of the role, on the ways on which it can be struck. */
  startVictim(role: Role): Promise<Victim>;
  /** A worker on the straight way, in this process: what a restart brings. */
  startWorker(): Promise<RunningWorker>;
  /** What the lease of a worker that was killed would come to after a while, at once. */
  endLeasesOf(victim: Victim): Promise<void>;
  close(): Promise<void>;
}

/** Sets everything up on a migrated database of its own. `nodeOptions` is for the victims alone. */
export async function setStage(url: string, nodeOptions: string): Promise<Stage> {
  const sql = connect(url, { max: 4, applicationName: "crash proof" });
  const folder = join(repositoryRoot, ".test-data");
  await mkdir(folder, { recursive: true });
  const data = await mkdtemp(join(folder, "crash-"));
  await loadOrMakeKey(data);
  const sink = await startMailSink();
  const mails = await startMailProxy(sink.port);
  const messages = await startMessageProxy(url);
  const world = await makeWorld(sql, {
    name: "crash",
    model: "scripted",
    toolset: ["tasks.list", "tasks.create", "mail.send", "human.ask"],
    limits: {},
  });
  await putSecret(sql, await readPublicKey(data), {
    workspaceId: world.workspaceId,
    name: "mail",
    capability: "mail.send",
    value: JSON.stringify({ host: "127.0.0.1", port: mails.port, from: "agent@example.com" }),
  });
  const { token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: world.approver,
    label: "crash proof",
    mayDecide: true,
  });

  const common = { COUNTERSIGN_DATA: data, PORT: "0", RATE_PER_SECOND: "1000000", RATE_BURST: "1000000" };
  // A victim looks for work when the bell rings, and seldom besides: what it sends is then nearly the same each time.
  const slow = { LEASE_MS: "60000", RENEW_MS: "20000", SWEEP_MS: "20000", POLL_MS: "2000", MAX_CLAIMS: "20" };
  const quick = { LEASE_MS: "60000", RENEW_MS: "20000", SWEEP_MS: "50", POLL_MS: "50", MAX_CLAIMS: "20" };
  const log = pino({ level: "silent" });
  const server = await startServer(parseServerConfig({ ...common, DATABASE_URL: url }), log);

  /** The next process of each role, which loads while the one before it works. */
  const ahead = new Map<Role, Promise<TestProcess>>();
  async function load(role: Role): Promise<TestProcess> {
    const env = {
      ...common,
      ...slow,
      DATABASE_URL: messages.url,
      NODE_OPTIONS: nodeOptions,
      NODE_COMPILE_CACHE: join(folder, "compile-cache"),
    };
    const victim = startProcess(join(import.meta.dirname, "victim.ts"), env, [role]);
    await victim.waitFor(said("loaded"));
    return victim;
  }

  return {
    sql,
    token,
    sink,
    messages,
    mails,
    server,
    async startVictim(role) {
      const victim = await (ahead.get(role) ?? load(role));
      victim.tell("start");
      const { url: address } = await victim.waitFor(said("ready"));
      const next = load(role);
      // It is waited for when it is needed.
      next.catch(() => undefined);
      ahead.set(role, next);
      return { process: victim, url: typeof address === "string" ? address : "" };
    },
    async startWorker() {
      const config = parseWorkerConfig({ ...common, ...quick, DATABASE_URL: url });
      return await work(config, () => ({ model: proofModel }), log);
    },
    async endLeasesOf(victim) {
      const name = `${hostname()}:${victim.process.pid}`;
      await sql`update runs set lease_until = clock_timestamp() - interval '1 second' where worker = ${name} and lease_id is not null`;
      await recoverRuns(sql, 100, 20);
    },
    async close() {
      for (const victim of ahead.values()) await (await victim.catch(() => undefined))?.kill();
      await server.stop();
      await Promise.all([messages.close(), mails.close(), sink.close(), sql.end({ timeout: 5 })]);
      await rm(data, { recursive: true });
    },
  };
}

function said(message: string): (line: Record<string, unknown>) => Record<string, unknown> | undefined {
  return (line) => (line["msg"] === message ? line : undefined);
}
