import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadOrMakeKey, replaceKey } from "@countersign/broker/keyring.ts";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { deleteSecret, putSecret } from "@countersign/broker/secrets.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { revokeGrant } from "@countersign/engine/commits/revoke-grant.ts";
import { stopPoint, until } from "@countersign/engine/testing/driver.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createScriptedModel } from "@countersign/engine/scripted-model.ts";
import { parseConfig } from "@countersign/worker/config.ts";
import { type RunningWorker, work } from "@countersign/worker/work.ts";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stage } from "./support/own-stage.ts";
import { startProcess } from "./support/processes.ts";
import { repositoryRoot } from "./support/repository.ts";

const { sql, url } = await testDatabase();
const toolFile = join(import.meta.dirname, "support/own-tool.ts");
let data: string;
let worker: RunningWorker | undefined;

beforeEach(async () => {
  data = await mkdtemp(join(repositoryRoot, ".test-data", "secrets-"));
  await loadOrMakeKey(data);
});

afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await sql`delete from secret_versions`;
  await sql`delete from secrets`;
  await rm(data, { recursive: true, force: true });
});

async function startWorker(): Promise<void> {
  const config = parseConfig({ DATABASE_URL: url, COUNTERSIGN_DATA: data, COUNTERSIGN_TOOLS: toolFile, POLL_MS: "50" });
  const model = createScriptedModel({
    agent: ({ turn, results }) =>
      turn < 2 ? { use: [{ tool: "own.use", args: {} }] } : { say: results.map(({ content }) => content).join("|") },
  });
  worker = await work(config, () => ({ model }), pino({ level: "silent" }));
}

async function setSecret(world: World, value: string, capability = "test.own"): Promise<void> {
  const secret = { workspaceId: world.workspaceId, name: capability, capability, value };
  expect(await putSecret(sql, await readPublicKey(data), secret)).toMatchObject({ kind: "stored" });
}

async function givenAgent(): Promise<World> {
  return await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["own.use"] });
}

/** Starts a run whose tool stops within its first use of the credential. */
async function startUntilFirstUse(world: World): Promise<string> {
  stage.first = stopPoint();
  const runId = await givenRun(sql, world, { grants: ["test.own"] });
  await stage.first.reached;
  return runId;
}

const endOf = async (runId: string): Promise<string> => {
  await until(async () => (await sql`select from runs where id = ${runId} and status = 'completed'`).length === 1);
  const [run] = await sql<{ output: string }[]>`select output from runs where id = ${runId}`;
  return JSON.parse(run?.output ?? '""') as string;
};

const refusalsOf = async (runId: string) =>
  (
    await sql<{ details: { code: string } }[]>`
      select details from audit where run_id = ${runId} and action = 'capability.refused' order by id`
  ).map(({ details }) => details.code);

describe("a worker that runs", () => {
  test("KN25: takes a secret that was set anew for the next call of the same run", async () => {
    const world = await givenAgent();
    await setSecret(world, "the-first-value");
    await startWorker();
    const runId = await startUntilFirstUse(world);
    await setSecret(world, "another-value");
    stage.first?.letGo();
    // The open handle keeps what it was lent; the next call acquires what stands there now.
    expect(await endOf(runId)).toBe("15 15|13 13");
  });

  test.each([
    ["a grant that is taken back", "grant_revoked"],
    ["a secret that is deleted", "secret_missing"],
  ])("refuses the next use of an open handle after %s", async (_what, code) => {
    const world = await givenAgent();
    await setSecret(world, "the-first-value");
    await startWorker();
    const runId = await startUntilFirstUse(world);
    const { workspaceId, admin } = world;
    if (code === "secret_missing") await deleteSecret(sql, { workspaceId, name: "test.own", deletedBy: admin });
    else await commitWithin(sql, revokeGrant, { runId, workspaceId, userId: admin, capability: "test.own" });
    stage.first?.letGo();
    expect(await endOf(runId)).not.toMatch(/15 15/);
    expect((await refusalsOf(runId))[0]).toBe(code);
  });

  test("KN27: does not open a row that was swapped for another's, and audits that", async () => {
    const [world, other] = [await givenAgent(), await givenAgent()];
    await setSecret(world, "the-first-value");
    await setSecret(other, "a-value-of-others");
    await startWorker();
    const before = await startUntilFirstUse(world);
    stage.first?.letGo();
    await endOf(before);
    await sql`
      update secret_versions v
         set ephemeral_public_key = w.ephemeral_public_key, sealed_data_key = w.sealed_data_key,
             data_key_nonce = w.data_key_nonce, nonce = w.nonce, ciphertext = w.ciphertext
        from secret_versions w, secrets s, secrets t
       where v.secret_id = s.id and s.workspace_id = ${world.workspaceId}
         and w.secret_id = t.id and t.workspace_id = ${other.workspaceId}`;
    stage.first = undefined;
    const runId = await givenRun(sql, world, { grants: ["test.own"] });
    expect(await endOf(runId)).toContain("its row was changed or belongs to another secret");
    expect(await refusalsOf(runId)).toContain("secret_unreadable");
  });
});

describe("a worker that boots", () => {
  test("KN28: with another key refuses and names every row, whatever its workspace", async () => {
    const [world, other] = [await givenAgent(), await givenAgent()];
    await setSecret(world, "the-first-value");
    await setSecret(other, "a-value-of-others", "test.other");
    await rm(join(data, "broker-key.private.json"));
    await loadOrMakeKey(data);
    const refused = startWorker();
    await expect(refused).rejects.toThrow("2 stored secrets were sealed to a key that this worker");
    for (const named of [world.workspaceId, "test.own, version 1", other.workspaceId, "test.other, version 1"])
      await expect(refused).rejects.toThrow(named);
  });

  test("on a row that was changed refuses and names it, and one whose key was replaced opens all", async () => {
    const world = await givenAgent();
    await setSecret(world, "the-first-value");
    await replaceKey(data);
    await startWorker();
    await worker?.stop();
    worker = undefined;
    await sql`update secret_versions set nonce = decode('000000000000000000000000', 'hex')`;
    await expect(startWorker()).rejects.toThrow(/changed since[^]*test\.own, version 1/);
  });

  test("twice at once with secrets in its environment stores them once, and neither process keeps them there", async () => {
    const world = await givenAgent();
    const start = () =>
      startProcess(join(repositoryRoot, "apps/worker/src/main.ts"), {
        DATABASE_URL: url,
        COUNTERSIGN_DATA: data,
        COUNTERSIGN_WORKSPACE: world.workspaceId,
        PROVIDERS: "fake",
        DEEPGRAM_API_KEY: "a-key-of-the-environment",
      });
    const both = [start(), start()];
    await Promise.all(both.map((one) => one.waitFor((line) => (line["msg"] === "ready" ? true : undefined))));
    const outcomes = both.flatMap((one) => one.said()).flatMap((line) => /"outcome":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(outcomes.toSorted()).toEqual(["kept", "seeded"]);
    const versions = await sql`
      select v.version from secret_versions v join secrets s on s.id = v.secret_id where s.workspace_id = ${world.workspaceId}`;
    expect(versions).toHaveLength(1);
    expect(both.flatMap((one) => one.said()).join("\n")).not.toContain("a-key-of-the-environment");
    expect(both.map((one) => one.environment().includes("a-key-of-the-environment"))).toEqual([false, false]);
    expect(await Promise.all(both.map((one) => one.stop()))).toEqual([0, 0]);
  });
});
