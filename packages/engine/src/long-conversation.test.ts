import type { Sql } from "@countersign/db/connect.ts";
import { expect, test } from "vitest";
import type { Engine, HeldRun } from "./engine.ts";
import type { ModelReply } from "./model.ts";
import { scrubNothing } from "./scrub.ts";
import { steer } from "./testing/driver.ts";
import { driveOut, makeEngine, readingTool, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import type { Tool } from "./tool.ts";

const { sql } = await engineDatabase();

const turns = 60;
const spec = {
  name: "agent",
  model: "scripted",
  toolset: ["look", "send"],
  limits: { turns: turns + 1, toolCalls: 100 },
};
const look = readingTool("look", () => ({ kind: "done", content: "A line of what was seen. ".repeat(20) }));
const usage = { inputTokens: 1, outputTokens: 1, costMicros: 0 };

/** The database as a turn of the run asks it: how often, and for how much of what is recorded. */
interface Asked {
  statements: number;
  rows: number;
  bytes: number;
}

/** The pool, with all that is asked through it and all that it answers counted in `asked`. */
function counting(asked: Asked): Sql {
  const unsafe = async (...given: Parameters<Sql["unsafe"]>): Promise<unknown> => {
    const rows = await sql.unsafe(...given);
    asked.statements += 1;
    asked.rows += rows.length;
    asked.bytes += JSON.stringify(rows).length;
    return rows;
  };
  return new Proxy(sql, { get: (pool, name) => (name === "unsafe" ? unsafe : Reflect.get(pool, name)) as unknown });
}

interface Turn extends Asked {
  /** The characters that were scrubbed. */
  scrubbed: number;
  /** How often it was asked what the run has acquired, and with which mark. */
  marks: (string | null | undefined)[];
}

/** Takes a run of many turns, each of one call, and tells what each turn asked for; `before` goes before each. */
async function takeTurns(
  tools: readonly Tool[],
  use: (turn: number) => string,
  before: (held: HeldRun, turn: number) => Promise<void> = async () => undefined,
): Promise<{ told: Turn[]; held: HeldRun; engine: Engine }> {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const told: Turn[] = [];
  const asked: Asked = { statements: 0, rows: 0, bytes: 0 };
  let scrubbed = 0;
  let marks: Turn["marks"] = [];
  const scrub = {
    ...scrubNothing,
    text(text: string) {
      scrubbed += text.length;
      return text;
    },
  };
  const engine: Engine = makeEngine(counting(asked), tools, () => ({ say: "" }), {
    scrubberOf: async (_runId, mark) => {
      marks.push(mark);
      return scrub;
    },
    model: async (): Promise<ModelReply> => {
      await before(held, told.length);
      told.push({ ...asked, scrubbed, marks });
      Object.assign(asked, { statements: 0, rows: 0, bytes: 0 });
      scrubbed = 0;
      marks = [];
      if (told.length > turns) return { content: [{ type: "text", text: "well" }], usage };
      const id = `toolu_${String(told.length).padStart(4, "0")}`;
      return { content: [{ type: "tool_use", id, name: use(told.length), argsText: "{}" }], usage };
    },
  });
  const held = await takeRun(engine, runId);
  await driveOut(engine, held);
  return { told: told.slice(1), held, engine };
}

test("a turn of a run that is held asks the database for as much, and scrubs as much, at any length of the conversation", async () => {
  const { told } = await takeTurns(
    [look, sendingTool("send", () => ({ kind: "done", content: "sent" }))],
    () => "look",
  );
  expect(told).toHaveLength(turns);
  const [first] = told;
  // Recording the turn, and the result of its call.
  expect(first?.statements).toBe(2);
  for (const turn of told.slice(1)) {
    expect({ statements: turn.statements, rows: turn.rows, scrubbed: turn.scrubbed }).toEqual({
      statements: first?.statements,
      rows: first?.rows,
      scrubbed: told[1]?.scrubbed,
    });
    expect(turn.bytes).toBeLessThan((first?.bytes ?? 0) + 10);
  }
});

test("news of a run that is held is read without the conversation before the last turn", async () => {
  const { told } = await takeTurns(
    [look],
    () => "look",
    async (held) => {
      held.hasNews = true;
    },
  );
  expect(told).toHaveLength(turns);
  const [, early] = told;
  for (const turn of told.slice(2)) {
    expect(turn.statements).toBe(early?.statements);
    expect(turn.bytes).toBeLessThan((early?.bytes ?? 0) + 50);
  }
});

test("a steer that comes in mid-run is in the prompt once, between the turns where it was read, whoever builds it", async () => {
  const world = await makeWorld(sql, { ...spec, limits: { turns: 8 } });
  const runId = await givenRun(sql, world);
  const prompts: string[][] = [];
  const engine = makeEngine(sql, [look], () => ({ say: "" }), {
    model: async ({ messages }) => {
      prompts.push(
        messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : []))),
      );
      if (prompts.length === 3) {
        await steer(sql, world, runId, "hurry");
        held.hasNews = true;
      }
      if (prompts.length === 6) return { content: [{ type: "text", text: "well" }], usage };
      return { content: [{ type: "tool_use", id: `toolu_${prompts.length}`, name: "look", argsText: "{}" }], usage };
    },
  });
  const held = await takeRun(engine, runId);
  expect(await driveOut(engine, held)).toBe("ended");
  expect(prompts.map((texts) => texts.filter((text) => text === "hurry").length)).toEqual([0, 0, 0, 1, 1, 1]);
});

test("what a run acquired is asked for once after each attempt that may acquire, and never where no call may", async () => {
  const none = await takeTurns([look], () => "look");
  expect(new Set(none.told.flatMap(({ marks }) => marks))).toEqual(new Set([null]));

  const send = sendingTool("send", () => ({ kind: "done", content: "sent" }), { needsApproval: false });
  const some = await takeTurns([look, send], (turn) => (turn === 10 || turn === 20 ? "send" : "look"));
  const marks = some.told.flatMap((turn) => turn.marks);
  expect(marks.slice(0, 20).every((mark) => mark === null)).toBe(true);
  expect(new Set(marks.filter((mark) => mark !== null)).size).toBe(2);
  const settled = marks.slice(-20);
  expect(new Set(settled).size).toBe(1);
});
