import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { decidePending, until } from "@countersign/engine/testing/driver.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { runRow } from "@countersign/engine/testing/rows.ts";
import { startMessagesServer } from "@countersign/model/testing/messages-server.ts";
import { expect, onTestFinished, test } from "vitest";
import { startProcess } from "./support/processes.ts";

const { sql, url } = await testDatabase();
const root = join(import.meta.dirname, "..");
const key = "sk-ant-of-this-test-0123456789";

test("a worker that is given a key in its environment stores it, sheds it, and asks Claude with it, run by run", async () => {
  await mkdir(join(root, ".test-data"), { recursive: true });
  const data = await mkdtemp(join(root, ".test-data", "claude-"));
  onTestFinished(() => rm(data, { recursive: true }));
  const prices = {
    inputMicros: 3_000_000,
    outputMicros: 15_000_000,
    cacheWriteMicros: 3_750_000,
    cacheReadMicros: 300_000,
  };
  const models = join(data, "models.json");
  await writeFile(models, JSON.stringify({ "claude-test": { contextTokens: 200_000, prices } }));
  const claude = await startMessagesServer(key, ({ messages }) =>
    messages.length === 1
      ? { say: [{ text: "I file it, and ask." }, { use: "tasks--create", args: '{"title":"sharpen the saw"}' }] }
      : { say: [{ text: "It is filed." }] },
  );
  onTestFinished(() => claude.close());

  const world = await makeWorld(sql, {
    name: "agent",
    model: "claude-test",
    instructions: "You file what you are told.",
    toolset: ["tasks.create"],
    approvalPolicy: "all",
  });
  const worker = startProcess(join(root, "apps/worker/src/main.ts"), {
    DATABASE_URL: url,
    COUNTERSIGN_DATA: data,
    COUNTERSIGN_WORKSPACE: world.workspaceId,
    COUNTERSIGN_MODELS: models,
    ANTHROPIC_BASE_URL: claude.url,
    ANTHROPIC_API_KEY: key,
    SWEEP_MS: "100",
    POLL_MS: "100",
  });
  const pid = await worker.waitFor(({ msg, pid: id, provider }) =>
    msg === "ready" && provider === "anthropic" ? { id } : undefined,
  );
  const secrets = await sql`select capability, current_version from secrets where workspace_id = ${world.workspaceId}`;
  expect(secrets).toEqual([{ capability: "llm.anthropic", current_version: 1 }]);
  if (typeof pid.id === "number") expect(await readFile(`/proc/${pid.id}/environ`, "utf8")).not.toContain(key);

  const runId = await givenRun(sql, world, { grants: [] });
  await until(async () => (await runRow(sql, runId)).waits_on === "approval");
  await decidePending(sql, world, runId, "approve");
  await until(async () => (await runRow(sql, runId)).status === "completed");

  expect(claude.rejections).toEqual([]);
  expect(claude.requests).toHaveLength(2);
  const [run] = await sql`select output, input_tokens, output_tokens, cost_micros from runs where id = ${runId}`;
  const sum = (of: (charge: (typeof claude.charges)[number]) => number) =>
    claude.charges.reduce((n, one) => n + of(one), 0);
  const read = sum((one) => one.input_tokens + one.cache_creation_input_tokens + one.cache_read_input_tokens);
  expect(run).toMatchObject({
    output: '"It is filed."',
    input_tokens: read,
    output_tokens: sum((one) => one.output_tokens),
  });
  expect(Number(run?.["cost_micros"])).toBeGreaterThan(0);
  expect(await sql`select title from tasks where run_id = ${runId} and kind = 'task'`).toEqual([
    { title: "sharpen the saw" },
  ]);
  expect(await worker.stop()).toBe(0);
});
