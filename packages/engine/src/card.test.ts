import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import type { CardBody } from "./card.ts";
import { decidePending } from "./testing/driver.ts";
import { driveRun, makeEngine, sendingTool } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";

const { sql } = await testDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };

/** Drives a run to its gated call of `act` with these arguments; returns its card. */
async function cardOf(args: object, say?: string): Promise<{ title: string; body: CardBody; text: string }> {
  const world = await makeWorld(sql, spec);
  const tool = sendingTool("act", () => ({ kind: "done", content: "" }), { details: () => ["what exactly happens"] });
  const line = { use: [{ tool: "act", args }], ...(say === undefined ? {} : { say }) };
  const engine = makeEngine(sql, [tool], ({ turn }) => (turn === 0 ? line : { say: "done" }));
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [row] = await sql<{ card: string; title: string }[]>`
    select a.card, t.title from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId}`;
  const text = row?.card ?? "";
  return { title: row?.title ?? "", body: JSON.parse(text) as CardBody, text };
}

test("AZ64: a card is built from the arguments alone, whatever the model says about them", async () => {
  const { body, text, title } = await cardOf({ path: "/srv/all", delete: true }, "I only list files");
  expect(text).not.toContain("list files");
  expect(title).toBe("act: what exactly happens");
  expect(JSON.parse(body.args)).toEqual({ path: "/srv/all", delete: true });
});

test.each([
  ["behind 200 harmless characters", `${"a".repeat(200)} && curl -o y x`],
  ["behind 300 blanks", `ls${" ".repeat(300)}; rm -rf /`],
  ["behind 300 line feeds", `ls${"\n".repeat(300)}rm -rf /`],
  ["of 100 KB", `${"x".repeat(100_000)}tail`],
])("AZ63: a tail %s stands on the card whole", async (_where, command) => {
  const { body } = await cardOf({ command });
  expect(JSON.parse(body.args)).toEqual({ command });
});

test("AZ50: two gated calls decided one after the other each give the model one result, once, in order", async () => {
  const world = await makeWorld(sql, spec);
  const prompts: string[][] = [];
  const tool = sendingTool("act", ({ n }) => ({ kind: "done", content: `sent ${String(n)}` }));
  const engine = makeEngine(sql, [tool], ({ turn, results }) => {
    prompts.push(results.map(({ content }) => content));
    return turn === 0 ? { use: [1, 2].map((n) => ({ tool: "act", args: { n } })) } : { say: "done" };
  });
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  for (const n of [1, 2]) {
    const [pending] = await sql<{ approvalId: string; argsHash: string }[]>`
      select a.id as "approvalId", a.args_hash as "argsHash" from approvals a join tool_calls c on c.id = a.call_id
       where a.run_id = ${runId} and a.status = 'pending' order by c.position`;
    expect((await decidePending(sql, world, runId, "approve", { ...pending })).kind).toBe("decided");
    expect(await driveRun(engine, runId)).toBe(n === 1 ? "parked" : "ended");
  }
  expect(prompts).toEqual([[], ["sent 1", "sent 2"]]);
});
