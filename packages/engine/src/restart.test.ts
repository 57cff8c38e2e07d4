import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { startEmbedded } from "@countersign/db/embedded.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { expect, test } from "vitest";
import { decidePending, until } from "./testing/driver.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { runRow } from "./testing/rows.ts";
import { aWorker } from "./testing/worker.ts";

/** Connections that died are noticed, and leases that nobody renewed run out, before anything goes on. */
const patienceMs = 60_000;

const root = join(import.meta.dirname, "../../..");

test("DU22: Postgres restarts under a worker that sweeps, holds a run and has others waiting, and no run is stranded", async () => {
  mkdirSync(join(root, ".test-data"), { recursive: true });
  const dataDir = mkdtempSync(join(root, ".test-data", "restart-"));
  const first = await startEmbedded({ dataDir });
  const sql = connect(first.url, { applicationName: "countersign tests" });
  try {
    await migrate(sql);
    const world = await makeWorld(sql, {
      name: "agent",
      model: "scripted",
      toolset: ["send", "look"],
      approvalExpiresMs: 400,
    });
    const tools = [
      sendingTool("send", () => ({ kind: "done", content: "sent" })),
      readingTool("look", async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return { kind: "done", content: "seen" };
      }),
    ];
    const { engine, stop } = aWorker(first.url, tools, ({ turn }) => {
      if (turn < 3) return { use: [{ tool: "look", args: { turn } }] };
      return turn === 3 ? { use: [{ tool: "send", args: {} }] } : { say: "done" };
    });
    const busy = await Promise.all(Array.from({ length: 4 }, () => givenRun(sql, world)));
    await until(async () => (await sql`select 1 from tool_calls limit 1`).length > 0);

    await first.stop();
    const second = await startEmbedded({ dataDir });
    expect(second.url).toBe(first.url);

    await until(
      async () => (await Promise.all(busy.map((id) => runRow(sql, id)))).every(({ status }) => status === "completed"),
      patienceMs,
    );
    const answers = await sql`select distinct status from approvals`;
    expect(answers).toEqual([{ status: "expired" }]);

    const later = await givenRun(sql, world);
    await until(async () => (await runRow(sql, later)).waits_on === "approval");
    await decidePending(sql, world, later, "approve");
    await until(async () => (await runRow(sql, later)).status === "completed");
    expect(engine.events.some(({ kind }) => kind === "sweep.failed")).toBe(true);
    await stop();
    await second.stop();
  } finally {
    await sql.end({ timeout: 1 });
    rmSync(dataDir, { recursive: true, force: true });
  }
});
