import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { cancelRun } from "./commits/cancel-run.ts";
import { recordTurn } from "./commits/record-turn.ts";
import type { Hold } from "./held-run.ts";
import type { Delta } from "./model.ts";
import { scrubNothing } from "./scrub.ts";
import { type DeltaStream, streamDeltas } from "./stream-deltas.ts";
import { crash, until } from "./testing/driver.ts";
import { driveRun, makeEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { aTurn, claimRun, givenRun, makeWorld } from "./testing/fixtures.ts";
import { countRows } from "./testing/rows.ts";

const { sql } = await engineDatabase();

const text = (said: string): Delta => ({ kind: "text", text: said });

async function givenHold(): Promise<Hold> {
  return await claimRun(sql, await givenRun(sql, await makeWorld(sql)));
}

async function shownOf(runId: string): Promise<[string, string][]> {
  const rows = await sql<{ kind: string; content: string }[]>`
    select kind, content from deltas where run_id = ${runId} order by id`;
  return rows.map(({ kind, content }) => [kind, JSON.parse(content) as string]);
}

async function shows(stream: DeltaStream, runId: string, deltas: readonly Delta[], rows: number): Promise<void> {
  for (const delta of deltas) stream.push(delta);
  await until(async () => (await countRows(sql, "deltas", runId)) >= rows);
}

test("what is said is shown in order, exactly, what is of one kind as one row", async () => {
  const hold = await givenHold();
  const stream = streamDeltas({ sql, hold, turn: 0 });
  const said: Delta[] = [
    { kind: "started" },
    { kind: "thinking", text: "h" },
    { kind: "thinking", text: "m\u0000" },
    text("a\ud800"),
    text("b"),
    { kind: "tool_use", tool: "look" },
  ];
  await shows(stream, hold.runId, said, 4);
  expect(await shownOf(hold.runId)).toEqual([
    ["started", ""],
    ["thinking", "hm\u0000"],
    ["text", "a\ud800b"],
    ["tool_use", "look"],
  ]);
  await stream.end();
});

test("a run writes at most four times a second", async () => {
  const hold = await givenHold();
  const stream = streamDeltas({ sql, hold, turn: 0 });
  const startedAt = performance.now();
  const typing = setInterval(() => stream.push(text("x")), 5);
  await until(async () => (await countRows(sql, "deltas", hold.runId)) >= 4);
  const tookMs = performance.now() - startedAt;
  clearInterval(typing);
  await stream.end();
  expect(tookMs).toBeGreaterThanOrEqual(700);
  const stored = await countRows(sql, "deltas", hold.runId);
  expect(stored).toBeLessThanOrEqual(5);
});

test("the commit of the turn takes them away, and what its writer still has is not written", async () => {
  const hold = await givenHold();
  const stream = streamDeltas({ sql, hold, turn: 0 });
  await shows(stream, hold.runId, [text("half")], 1);
  stream.push(text(" an answer"));
  await stream.end();
  await commitWithin(sql, recordTurn, aTurn(hold));
  stream.push(text("late"));
  await stream.end();
  expect(await shownOf(hold.runId)).toEqual([]);
});

test("the end of a run takes them away", async () => {
  const world = await makeWorld(sql);
  const hold = await claimRun(sql, await givenRun(sql, world));
  const stream = streamDeltas({ sql, hold, turn: 0 });
  await shows(stream, hold.runId, [text("half")], 1);
  await stream.end();
  const { runId } = hold;
  await commitWithin(sql, cancelRun, {
    runId,
    workspaceId: world.workspaceId,
    userId: world.operator,
    reason: "enough",
  });
  expect(await shownOf(runId)).toEqual([]);
});

test("a worker that lost the run, or whose turn is recorded, shows nothing", async () => {
  const hold = await givenHold();
  const late = streamDeltas({ sql, hold, turn: 1 });
  late.push(text("of another turn"));
  await crash(sql, hold.runId);
  const lost = streamDeltas({ sql, hold, turn: 0 });
  lost.push(text("of a lost run"));
  const again = await claimRun(sql, hold.runId);
  const stream = streamDeltas({ sql, hold: again, turn: 0 });
  await shows(stream, hold.runId, [text("anew")], 1);
  await Promise.all([late.end(), lost.end(), stream.end()]);
  expect(await shownOf(hold.runId)).toEqual([["text", "anew"]]);
});

test("a value that lies across pieces, and across writes, is taken out before it is written", async () => {
  const hold = await givenHold();
  // Holds everything back that could be the beginning of "secret".
  const createScrub = async () => {
    let kept = "";
    return {
      push(piece: string) {
        kept = (kept + piece).replaceAll("secret", "***");
        const open = [5, 4, 3, 2, 1].find((length) => kept.endsWith("secret".slice(0, length))) ?? 0;
        const out = kept.slice(0, kept.length - open);
        kept = kept.slice(kept.length - open);
        return out;
      },
      end: () => kept,
    };
  };
  const stream = streamDeltas({ sql, hold, turn: 0, createScrub });
  await shows(stream, hold.runId, [text("a sec")], 1);
  await shows(stream, hold.runId, [text("ret is se"), { kind: "thinking", text: "secret" }, { kind: "started" }], 4);
  expect(await shownOf(hold.runId)).toEqual(
    [
      ["text", "a "],
      ["text", "*** is se"],
      ["thinking", "***"],
      ["started", ""],
    ].map((row) => row as [string, string]),
  );
  await stream.end();
});

test("where what is said cannot be scrubbed it is not shown, and the run goes on", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  const runId = await givenRun(sql, world);
  const plain = makeEngine(sql, [], () => ({ say: "ok" }));
  const during: number[] = [];
  const step = await driveRun(
    {
      ...plain,
      scrubberOf: async () => ({
        ...scrubNothing,
        createStream: () => {
          throw new Error("no keys");
        },
      }),
      model: async (request, signal, onDelta) => {
        onDelta?.(text("a secret"));
        await new Promise((resolve) => setTimeout(resolve, 20));
        during.push(await countRows(sql, "deltas", runId));
        return await plain.model(request, signal);
      },
    },
    runId,
  );
  expect(step).toBe("ended");
  expect(during).toEqual([0]);
});
