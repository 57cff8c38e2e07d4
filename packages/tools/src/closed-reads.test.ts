import { randomUUID } from "node:crypto";
import { transaction } from "@countersign/db/transaction.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { driveRun, makeEngine } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { adopt } from "@countersign/engine/testing/rows.ts";
import { setAccessRule } from "@countersign/kb/access-rules.ts";
import { applyOkf } from "@countersign/kb/apply-okf.ts";
import { defineTool, type Tool, type ToolResult } from "@countersign/engine/tool.ts";
import { putFile } from "@countersign/ops/files.ts";
import { listProposals, proposeMemory } from "@countersign/ops/memory.ts";
import { addReminder } from "@countersign/ops/reminders.ts";
import { putTask } from "@countersign/ops/tasks.ts";
import { listClosedRuns } from "@countersign/ops/visible.ts";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { filesAttach } from "./files-attach.ts";
import { filesList } from "./files-list.ts";
import { filesRead } from "./files-read.ts";
import { kbAppend } from "./kb-append.ts";
import { kbCorpus } from "./kb-corpus.ts";
import { kbCreate } from "./kb-create.ts";
import { kbEdit } from "./kb-edit.ts";
import { kbExpand } from "./kb-expand.ts";
import { kbGrep } from "./kb-grep.ts";
import { kbNodeEdit } from "./kb-node-edit.ts";
import { kbNodeRead } from "./kb-node-read.ts";
import { kbRead } from "./kb-read.ts";
import { kbSearch } from "./kb-search.ts";
import { kbRemove } from "./kb-remove.ts";
import { memoryConsolidate } from "./memory-consolidate.ts";
import { opsHeartbeat } from "./ops-heartbeat.ts";
import { remindersCancel } from "./reminders-cancel.ts";
import { remindersList } from "./reminders-list.ts";
import { tasksDone } from "./tasks-done.ts";
import { tasksDoneLog } from "./tasks-done-log.ts";
import { tasksList } from "./tasks-list.ts";
import { callTool } from "./testing/call-tool.ts";

const { sql } = await engineDatabase();

/** A workspace whose directory `payroll` is closed to all but the operator, as whom its runs read. */
interface Given {
  readonly world: World;
  readonly ids: Readonly<Record<"page" | "node" | "open" | "task" | "done" | "reminder", string>>;
  readonly hash: string;
  /** A run that has read it. */
  readonly closedRun: string;
}

let given: Given;

beforeAll(async () => {
  const world = await makeWorld(sql);
  const { workspaceId, operator: userId } = world;
  const made = await transaction(sql, async (tx) => {
    const writer = { tx, workspaceId, userId: world.admin };
    const pageOf = async (page: string, okf: string, dir: string): Promise<string> => {
      const result = await applyOkf(writer, { page, okf, dir });
      return result.kind === "applied" ? result.page.id : "";
    };
    const page = await pageOf("Salaries", "- the zephyr earns 1 [[Lunch]]\n", "payroll");
    const open = await pageOf("Lunch", "- soup\n", "canteen");
    await setAccessRule(writer, { dir: "payroll", pageId: null, userId: null, level: "none" });
    await setAccessRule(writer, { dir: "payroll", pageId: null, userId, level: "write" });
    const [node] = await tx<{ id: string }[]>`select id from nodes where page_id = ${page}`;
    const hash = await storeBlob(tx, workspaceId, Buffer.from("a zephyr in a file"), "text/plain");
    const file = { workspaceId, hash, mediaType: "text/plain", createdBy: `user:${userId}` };
    await putFile(tx, { ...file, name: "zephyr.txt", pageId: page });
    return { page, open, node: node?.id ?? "", hash };
  });
  const closedRun = await givenRun(sql, world);
  await callTool(sql, kbRead, { workspaceId, userId, runId: closedRun }, { page: "Salaries" });
  const by = { workspaceId, createdBy: `run:${closedRun}`, runId: closedRun };
  const taskOf = async (title: string): Promise<string> => {
    const put = await putTask(sql, { ...by, title });
    return put.kind === "created" ? put.id : "";
  };
  const [task, done] = [await taskOf("tell the zephyr"), await taskOf("told the zephyr")];
  await callTool(sql, tasksDone, { workspaceId, userId, runId: closedRun }, { id: done });
  const { id: reminder } = await addReminder(sql, {
    ...by,
    text: "the zephyr waits",
    dueAt: new Date(Date.now() + 3_600_000),
    userId,
  });
  const { hash, ...ids } = made;
  given = { world, ids: { ...ids, task, done, reminder }, hash, closedRun };
});

/** Has a new run of the operator's use a tool; who of two people may not read the run then. */
async function closedAfter(tool: Tool, args: object, userId = given.world.operator) {
  const { workspaceId, operator, viewer } = given.world;
  const runId = await givenRun(sql, given.world);
  const result = await callTool(sql, tool, { workspaceId, userId, runId }, args);
  const isClosedTo = async (id: string) => (await listClosedRuns(sql, { workspaceId, userId: id }, [runId])).has(runId);
  return { result, viewer: await isClosedTo(viewer), operator: await isClosedTo(operator) };
}

/** Whether a result says something of it that its own arguments did not. */
function telling({ content }: ToolResult, args: object = {}): boolean {
  const own = Object.values(args).map(String);
  return /zephyr|Salaries|payroll/i.test(own.reduce((left, value) => left.replaceAll(value, ""), content));
}

const calls: readonly (readonly [Tool, (given: Given) => object])[] = [
  [kbRead, () => ({ page: "Salaries" })],
  [kbRead, () => ({ page: "Salariez" })],
  [kbRead, () => ({ page: "Lunch" })],
  [kbSearch(), () => ({ q: "zephyr" })],
  [kbSearch(), () => ({ q: "salarys" })],
  [kbGrep, () => ({ pattern: "zephyr" })],
  [kbNodeRead, ({ ids }) => ({ node: ids.node })],
  [kbCorpus, () => ({})],
  [kbExpand, () => ({})],
  [kbExpand, () => ({ directory: "Payroll" })],
  [kbAppend, () => ({ page: "Salariez", text: "x" })],
  [kbAppend, () => ({ page: "Salaries", text: "x" })],
  [kbEdit, () => ({ page: "Salaries", okf: "- x\n" })],
  [kbNodeEdit, ({ ids }) => ({ node: ids.node, okf: "- x\n" })],
  [kbCreate, () => ({ title: "salaries" })],
  [kbCreate, () => ({ title: "More salaries", dir: "payroll", okf: "- zephyr\n" })],
  [filesList, () => ({ page: "Salaries" })],
  [filesRead, ({ hash }) => ({ handle: `sha256:${hash}` })],
  [filesAttach, ({ hash }) => ({ name: "zephyr.txt", handle: `sha256:${hash}` })],
  [tasksList, () => ({})],
  [tasksDoneLog, () => ({})],
  [tasksDone, ({ ids }) => ({ id: ids.done })],
  [remindersList, () => ({})],
  [remindersCancel, ({ ids }) => ({ id: ids.reminder })],
];

test.each(calls)(
  "%# a run that is told of a closed page by a tool is closed to whoever may not see it",
  async (tool, args) => {
    const { result, viewer, operator } = await closedAfter(tool, args(given));
    expect([tool.name, telling(result) || tool === kbNodeEdit, viewer, operator]).toEqual([
      tool.name,
      true,
      true,
      false,
    ]);
  },
);

test("a run that asks for the same as somebody who may not see it is told nothing, and open to all", async () => {
  const { viewer: stranger } = given.world;
  for (const [tool, args] of calls.filter(([{ effect }]) => effect === "read-only")) {
    const { result, viewer } = await closedAfter(tool, args(given), stranger);
    expect([tool.name, args(given), telling(result, args(given)), viewer]).toEqual([
      tool.name,
      args(given),
      false,
      false,
    ]);
  }
});

test("what memory holds of a closed page, and a reminder of a closed run, close the run that is told of it", async () => {
  const { workspaceId } = given.world;
  await proposeMemory(sql, {
    workspaceId,
    kind: "zephyr",
    text: "zephyr",
    proposedBy: "run:1",
    runId: given.closedRun,
  });
  expect(await closedAfter(memoryConsolidate, {})).toMatchObject({ viewer: true, operator: false });
  const again = await closedAfter(memoryConsolidate, {}, given.world.viewer);
  expect([telling(again.result), again.viewer]).toEqual([false, false]);
  for (const userId of [given.world.viewer, given.world.operator]) {
    const dueAt = new Date(Date.now() - 1_000);
    const text = "zephyr is due";
    await addReminder(sql, { workspaceId, text, dueAt, userId, createdBy: "run:1", runId: given.closedRun });
    const { result, viewer } = await closedAfter(opsHeartbeat, {}, userId);
    expect([telling(result), viewer]).toEqual(userId === given.world.operator ? [true, true] : [false, false]);
  }
});

test("nobody closes a task or cancels a reminder that they may not read", async () => {
  const { workspaceId, viewer, operator } = given.world;
  const by = { workspaceId, createdBy: "run:1", runId: given.closedRun };
  const put = await putTask(sql, { ...by, title: "zephyr" });
  const dueAt = new Date(Date.now() + 3_600_000);
  const reminder = await addReminder(sql, { ...by, text: "zephyr", dueAt, userId: operator });
  for (const [tool, id] of [
    [tasksDone, put.kind === "created" ? put.id : ""],
    [remindersCancel, reminder.id],
  ] as const) {
    const refused = await closedAfter(tool, { id }, viewer);
    expect(refused).toMatchObject({ result: { kind: "failed" }, viewer: false });
    expect(telling(refused.result)).toBe(false);
    expect(await closedAfter(tool, { id })).toMatchObject({ result: { kind: "done" }, viewer: true });
  }
});

test("a proposal is the duplicate of one that all who see it see too, whoever consolidates", async () => {
  const { workspaceId, viewer, operator } = given.world;
  const openRun = await givenRun(sql, given.world);
  const propose = async (runId: string, text: string) =>
    (await proposeMemory(sql, { workspaceId, kind: "fact", text, proposedBy: "run:1", runId })).id;
  const openTo = async (userId: string) =>
    (await listProposals(sql, { workspaceId, userId, status: "proposed", limit: 100 }))
      .filter(({ kind }) => kind === "fact")
      .map(({ id }) => id);
  const closed = [await propose(given.closedRun, "it rains"), await propose(given.closedRun, "It rains.")];
  const open = await propose(openRun, "it rains");
  expect((await closedAfter(memoryConsolidate, {}, viewer)).result.content).toContain("0 duplicates were closed");
  expect(await openTo(operator)).toEqual([...closed, open]);
  await closedAfter(memoryConsolidate, {});
  expect(await openTo(operator)).toEqual([open]);
  expect(await openTo(viewer)).toEqual([open]);
  expect((await closedAfter(memoryConsolidate, {})).result.content).toContain("0 duplicates were closed");
});

/** Drives a run of the operator's with one call; its tool's result, and whether the viewer may not read the run. */
async function afterDriving(tool: Tool, args: object) {
  const { world } = given;
  const spec = { name: "agent", model: "scripted", toolset: [tool.name] };
  await sql`update definition_versions set spec = ${JSON.stringify(spec)}::text::json where definition_id = ${world.definitionId}`;
  const engine = makeEngine(sql, [tool], ({ results }) =>
    results.length === 0 ? { use: [{ tool: tool.name, args }] } : { say: "done" },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [call] = await sql<{ status: string; result: string | null }[]>`
    select status, result from tool_calls where run_id = ${runId}`;
  const closed = await listClosedRuns(sql, { workspaceId: world.workspaceId, userId: world.viewer }, [runId]);
  return { ...call, isClosed: closed.has(runId) };
}

test("what a refused write names is kept, though the write is taken back; so is what a card shows that nobody decided on", async () => {
  const refused = await afterDriving(kbCreate, { title: "Salaries" });
  expect(refused).toMatchObject({ status: "failed", result: expect.stringContaining("payroll"), isClosed: true });
  expect(await afterDriving(kbRemove, { node: given.ids.node })).toMatchObject({ status: "waiting", isClosed: true });
});

test("what a tool reads is kept before the tool has it", async () => {
  const look = defineTool({
    name: "look",
    description: "Looks",
    schema: z.strictObject({}),
    tier: "read",
    needsApproval: false,
    effect: "read-only",
    async execute(_args, context) {
      await context.read(async () => context.shown.pages.add(given.ids.page));
      const kept = await sql`select from run_reads where run_id = ${context.runId} and page_id = ${given.ids.page}`;
      return { kind: "done", content: `${kept.length} kept` };
    },
  });
  expect(await afterDriving(look, {})).toMatchObject({ result: '"1 kept"', isClosed: true });
});

test("a run and those it started, or that started it, are closed together", async () => {
  const { workspaceId, operator: userId, viewer } = given.world;
  const [parent, child, other] = [
    await givenRun(sql, given.world),
    await givenRun(sql, given.world),
    await givenRun(sql, given.world),
  ];
  await adopt(sql, parent, child);
  await callTool(sql, kbGrep, { workspaceId, userId, runId: child }, { pattern: "zephyr" });
  expect(await listClosedRuns(sql, { workspaceId, userId: viewer }, [parent, child, other])).toEqual(
    new Set([parent, child]),
  );
});

test("what is opened again opens the runs that read it, and what a run read while it was open stays open to all", async () => {
  const world = await makeWorld(sql);
  const { workspaceId, operator: userId, viewer } = world;
  const runs = [await givenRun(sql, world), await givenRun(sql, world)];
  const read = (runId = "") => callTool(sql, kbRead, { workspaceId, userId, runId }, { page: "Notes" });
  const isClosed = async () => {
    const closed = await listClosedRuns(sql, { workspaceId, userId: viewer }, runs);
    return runs.map((id) => closed.has(id));
  };
  await callTool(sql, kbCreate, { workspaceId, userId, runId: randomUUID() }, { title: "Notes", dir: "a" });
  await read(runs[0]);
  const close = (level: "none" | "read") =>
    transaction(sql, (tx) =>
      setAccessRule({ tx, workspaceId, userId }, { dir: "a", pageId: null, userId: viewer, level }),
    );
  await close("none");
  await read(runs[1]);
  expect(await isClosed()).toEqual([false, true]);
  await close("read");
  expect(await isClosed()).toEqual([false, false]);
});

test("a run is closed to somebody exactly where a page that it has read is, whatever the rules", async () => {
  const world = await makeWorld(sql);
  const { workspaceId, operator: userId, viewer } = world;
  const read: { readonly runId: string; readonly pageId: string }[] = [];
  for (const dir of ["", "a", "a/b", "a/b/c", "d"]) {
    const runId = await givenRun(sql, world);
    await callTool(
      sql,
      kbCreate,
      { workspaceId, userId, runId },
      { title: `In /${dir}`, ...(dir === "" ? {} : { dir }) },
    );
    const [page] = await sql<{ id: string }[]>`
      select id from pages where workspace_id = ${workspaceId} and title = ${`In /${dir}`}`;
    await sql`insert into run_reads (run_id, page_id) values (${runId}, ${page?.id ?? ""})`;
    read.push({ runId, pageId: page?.id ?? "" });
  }
  const place = fc.oneof(
    fc.constantFrom("", "a", "a/b", "d").map((dir) => ({ dir, pageId: null })),
    fc.constantFrom(...read).map(({ pageId }) => ({ dir: null, pageId })),
  );
  const rule = fc.record({
    place,
    userId: fc.constantFrom(null, viewer),
    level: fc.constantFrom("none" as const, "read" as const, "write" as const),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(rule, { maxLength: 6 }), async (rules) => {
      await sql`delete from access_rules where workspace_id = ${workspaceId}`;
      for (const { place: of, ...said } of rules)
        await transaction(sql, (tx) => setAccessRule({ tx, workspaceId, userId }, { ...of, ...said }));
      const closedPages = await sql<{ id: string }[]>`
        select closed_pages(${workspaceId}::uuid, ${viewer}::uuid, 'read') as id`;
      const closed = new Set(closedPages.map(({ id }) => id));
      expect(
        await listClosedRuns(
          sql,
          { workspaceId, userId: viewer },
          read.map(({ runId }) => runId),
        ),
      ).toEqual(new Set(read.filter(({ pageId }) => closed.has(pageId)).map(({ runId }) => runId)));
    }),
    { numRuns: 60 },
  );
});

test("where nothing is closed nothing is kept", async () => {
  const world = await makeWorld(sql);
  const { workspaceId, operator: userId } = world;
  const runId = await givenRun(sql, world);
  await callTool(sql, kbCreate, { workspaceId, userId, runId }, { title: "Notes" });
  await callTool(sql, kbRead, { workspaceId, userId, runId }, { page: "Notes" });
  expect(await sql`select from run_reads where run_id = ${runId}`).toHaveLength(0);
});
