import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadOrMakeKey } from "@countersign/broker/keyring.ts";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { type MailSink, startMailSink } from "../support/mail-sink.ts";
import { startProcess, type TestProcess } from "../support/processes.ts";
import { repositoryRoot } from "../support/repository.ts";
import { type ChaosProxy, startChaosProxy } from "./chaos-proxy.ts";
import { type OwnPostgres, startOwnPostgres } from "./own-postgres.ts";

/** One of the processes of the product; when it is killed another takes its place. */
export interface Member {
  readonly role: "worker" | "server";
  process: TestProcess;
  /** Where it answers, if it is a server. */
  url: string;
}

/** Everything the chaos proof sets going, on a database server of its own that waits for the disk. */
export interface Troupe {
  readonly postgres: OwnPostgres;
  /** The way of the product's processes to the database. */
  readonly proxy: ChaosProxy;
  /** This process's own way: undisturbed, but for restarts of the server. */
  readonly sql: Sql;
  readonly sink: MailSink;
  readonly token: string;
  readonly members: readonly Member[];
  /** Brings the database server back after `postgres.stop`, at whatever address it comes. */
  bringBack(): Promise<void>;
  /** SIGKILL; nobody takes its place yet. */
  kill(member: Member): Promise<void>;
  /** Starts a new process in the place of one that was killed. */
  replace(member: Member): Promise<void>;
  /** Processes that ended without having been killed, with what they said last. */
  fallen(): readonly string[];
  close(): Promise<void>;
}

const skews = [300_000, -300_000, 0];

/** Two servers and three workers, one of them five minutes ahead, one behind. */
export async function startTroupe(): Promise<Troupe> {
  const folder = join(repositoryRoot, ".test-data");
  await mkdir(folder, { recursive: true });
  const data = await mkdtemp(join(folder, "chaos-"));
  const postgres = await startOwnPostgres(join(data, "postgres"));
  const straight = await startChaosProxy(postgres.url());
  const proxy = await startChaosProxy(postgres.url());
  const sql = connect(straight.url, { max: 6, applicationName: "chaos proof" });
  await migrate(sql);
  await loadOrMakeKey(data);
  const sink = await startMailSink();
  const world = await makeWorld(sql, { name: "chaos", model: "scripted", toolset: ["mail.send"], limits: {} });
  const { workspaceId } = world;
  const settings = JSON.stringify({ host: "127.0.0.1", port: sink.port, from: "agent@example.com" });
  const secret = { workspaceId, name: "mail", capability: "mail.send", value: settings };
  await putSecret(sql, await readPublicKey(data), secret);
  const { token } = await createToken(sql, { workspaceId, userId: world.approver, label: "chaos", mayDecide: true });

  const env = {
    DATABASE_URL: proxy.url,
    COUNTERSIGN_DATA: data,
    PORT: "0",
    RATE_PER_SECOND: "1000000",
    RATE_BURST: "1000000",
    LEASE_MS: "1500",
    DATABASE_SILENT_MS: "1000",
    RENEW_MS: "400",
    SWEEP_MS: "300",
    POLL_MS: "200",
    MAX_CLAIMS: "1000",
    NODE_COMPILE_CACHE: join(folder, "compile-cache"),
  };
  const fallen: string[] = [];

  async function start(role: Member["role"], skewMs: number): Promise<Omit<Member, "role">> {
    for (let attempt = 1; ; attempt += 1) {
      const child = startProcess(join(import.meta.dirname, "victim.ts"), env, [role, String(skewMs)]);
      child.tell("start");
      try {
        const { url } = await child.waitFor((line) => (line["msg"] === "ready" ? line : undefined));
        return { process: child, url: typeof url === "string" ? url : "" };
      } catch (error) {
        // While the database is away a process refuses to start, and whoever supervises it tries again.
        if (attempt > 30) throw error;
      }
    }
  }
  const members = await Promise.all(
    [0, 1, 2, 3, 4].map(async (index): Promise<Member> => {
      const role = index < 3 ? "worker" : "server";
      return { role, ...(await start(role, skews[index] ?? 0)) };
    }),
  );

  const isExpected = new WeakSet<TestProcess>();
  const replace = async (member: Member): Promise<void> => {
    Object.assign(member, await start(member.role, skews[members.indexOf(member)] ?? 0));
  };
  /** What ended by itself is noted and started again, as a supervisor would. */
  const supervising = setInterval(() => {
    for (const member of members) {
      const words = member.process.lastWords();
      if (words === undefined || isExpected.has(member.process)) continue;
      isExpected.add(member.process);
      fallen.push(`a ${member.role} ended by itself: ${words}`);
      void replace(member);
    }
  }, 100);

  return {
    postgres,
    proxy,
    sql,
    sink,
    token,
    members,
    async bringBack() {
      await postgres.start();
      for (const way of [straight, proxy]) way.pointAt(postgres.url());
    },
    async kill(member) {
      isExpected.add(member.process);
      await member.process.kill();
    },
    replace,
    fallen: () => fallen,
    async close() {
      clearInterval(supervising);
      await Promise.all(members.map(async (member) => await member.process.kill()));
      await sql.end({ timeout: 1 });
      await Promise.all([proxy.close(), straight.close(), sink.close()]);
      await postgres.remove();
      await rm(data, { recursive: true, force: true });
    },
  };
}
