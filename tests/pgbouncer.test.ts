import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadOrMakeKey } from "@countersign/broker/keyring.ts";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectedOutput } from "./prove/scenarios.ts";
import { startMailSink } from "./support/mail-sink.ts";
import { findPgBouncer, startPgBouncer } from "./support/pgbouncer.ts";
import { startProcess, type TestProcess } from "./support/processes.ts";
import { repositoryRoot } from "./support/repository.ts";

const program = findPgBouncer();
if (program === undefined)
  console.log("PgBouncer is not installed, so the stories behind a pooler are not run: apt-get install pgbouncer");

describe.runIf(program !== undefined)("DU40: behind a pooler in transaction mode", () => {
  /** The whole story over HTTP: a free read, a write, an approved mail, a steer, a question. Answers what the worker said. */
  async function playBehind(directFor: (directUrl: string) => Record<string, string>): Promise<string[]> {
    const { sql, url } = await testDatabase();
    const data = await mkdtemp(join(repositoryRoot, ".test-data", "pooler-"));
    await loadOrMakeKey(data);
    const pooler = await startPgBouncer(program ?? "", url);
    const sink = await startMailSink();
    const processes: TestProcess[] = [];
    const said: string[] = [];
    onTestFinished(async () => {
      await Promise.all(processes.map(async (one) => await one.kill()));
      await Promise.all([pooler.stop(), sink.close()]);
      await rm(data, { recursive: true, force: true });
    });

    const world = await makeWorld(sql, {
      name: "crash",
      model: "scripted",
      toolset: ["tasks.list", "tasks.create", "mail.send", "human.ask"],
      limits: {},
    });
    const { workspaceId } = world;
    const value = JSON.stringify({ host: "127.0.0.1", port: sink.port, from: "agent@example.com" });
    await putSecret(sql, await readPublicKey(data), { workspaceId, name: "mail", capability: "mail.send", value });
    const { token } = await createToken(sql, { workspaceId, userId: world.approver, label: "test", mayDecide: true });
    const env = {
      DATABASE_URL: pooler.url,
      DATABASE_PREPARE: "false",
      COUNTERSIGN_DATA: data,
      PORT: "0",
      ...directFor(url),
    };
    const start = async (role: string): Promise<string> => {
      const one = startProcess(join(import.meta.dirname, "prove/victim.ts"), env, [role]);
      processes.push(one);
      one.tell("start");
      return await one.waitFor((line) => {
        if (line["level"] !== 30) said.push(JSON.stringify(line));
        return line["msg"] === "ready" ? String(line["url"]) : undefined;
      });
    };
    const [address] = await Promise.all([start("server"), start("worker")]);

    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${address}/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { id: string };
      expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
      return answer;
    };
    const untilSome = async <T>(look: () => PromiseLike<readonly T[]>): Promise<T> => {
      for (;;) {
        const [found] = await look();
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const { id } = await post("/runs", { definition: "agent", input: "go" }, { "idempotency-key": "once" });
    const asked = await untilSome(
      () => sql<{ id: string; version: number; digest: string }[]>`
        select id, version, args_hash as digest from approvals where run_id = ${id} and status = 'pending'`,
    );
    await post(`/runs/${id}/steer`, { message: "and be quick" });
    await post(
      `/approvals/${asked.id}/decision`,
      { answer: "approve", argsDigest: asked.digest },
      { "if-match": `"${asked.version}"` },
    );
    const question = await untilSome(
      () => sql<{ card: string }[]>`select task_id as card from questions where run_id = ${id} and status = 'open'`,
    );
    await post(`/tasks/${question.card}/answer`, { answer: "blue" });
    const end = await untilSome(
      () =>
        sql<
          { output: string }[]
        >`select output::json #>> '{}' as output from runs where id = ${id} and output is not null`,
    );
    expect(end.output).toBe(expectedOutput);
    expect(sink.received).toHaveLength(1);
    expect(await findViolations(sql)).toEqual([]);
    for (const one of processes)
      await one.waitFor(heardNothing).then(
        (line) => said.push(line),
        () => undefined,
      );
    return said;

    function heardNothing(line: Record<string, unknown>): string | undefined {
      return String(line["msg"]).includes("bell is not heard") || directFor(url)["DATABASE_DIRECT_URL"] !== undefined
        ? String(line["msg"])
        : undefined;
    }
  }

  test("every outcome is as without it, and with the direct address nothing is missed", async () => {
    const said = await playBehind((direct) => ({ DATABASE_DIRECT_URL: direct }));
    expect(said.filter((line) => line.includes("bell is not heard"))).toEqual([]);
  });

  test("without the direct address every outcome is the same, and both processes say that the bell is not heard", async () => {
    const said = await playBehind(() => ({}));
    expect(said.filter((line) => line.includes("bell is not heard"))).toHaveLength(2);
  });
});
