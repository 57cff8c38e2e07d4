import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { approvalCard, type CardBody } from "./card.ts";
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
  const { body, title } = await cardOf({ path: "/srv/all", delete: true }, "I only list files");
  const { narration, ...ofArguments } = body;
  expect(JSON.stringify(ofArguments)).not.toContain("list files");
  expect(title).toBe("act: what exactly happens");
  expect(JSON.parse(body.args)).toEqual({ path: "/srv/all", delete: true });
  expect(narration).toBe("I only list files");
});

test("AZ64: what the model said stands apart on the card, cut, with nothing in it that could act or hide", async () => {
  const { body } = await cardOf({}, `\u202Edone\u001B[2J${"x".repeat(5_000)}`);
  expect(body.narration).toHaveLength(2_000);
  expect(body.narration).toMatch(/^\\u202edone\\u001b\[2J/);
  expect((await cardOf({}, "   ")).body.narration).toBeUndefined();
});

test.each(["\u202E", "\u200B", "\u2066", "\u{E0041}", "\u00A0", "\uFEFF", "\u3164"])(
  "AZ63: a character that nobody sees, or that reorders what is seen, is written out on the card: %j",
  async (hidden) => {
    const { body } = await cardOf({ command: `ls ${hidden} x` });
    expect(body.args).not.toContain(hidden);
    expect(body.args).toContain("\\u");
    expect(JSON.parse(body.args)).toEqual({ command: `ls ${hidden} x` });
  },
);

test("AZ63: a card lists every unit that the call touches, in full, however many there are", async () => {
  const units = [...Array(40).keys()].map((n) => `echo ${n} ${"a".repeat(200)}`);
  const world = await makeWorld(sql, spec);
  const tool = sendingTool("act", () => ({ kind: "done", content: "" }), {
    units: () => [...units, { text: "curl -o y x", key: "curl" }],
  });
  const engine = makeEngine(sql, [tool], ({ turn }) =>
    turn === 0 ? { use: [{ tool: "act", args: {} }] } : { say: "" },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [row] = await sql<{ card: string }[]>`select card from approvals where run_id = ${runId}`;
  const body = JSON.parse(row?.card ?? "") as CardBody;
  expect(body.units).toEqual([...units, "curl -o y x"]);
  expect(body.remembers).toEqual([...units, "curl"]);
});

test.each([
  [
    "what a rule would hold is said where that is not what the call touches",
    [
      { text: "rm -r x", key: "rm" },
      { text: "rm y", key: "rm" },
    ],
    ["rm"],
  ],
  ["nothing is said twice", ["rm", { text: "ls", key: "ls" }], undefined],
  ["no rule can vouch for one of them", ["rm", { text: "$x", unkeyable: "expansion" }], []],
  ["nobody can say what it touches", [], []],
] as const)("what a remembered answer holds stands on the card: %s", (_, units, remembers) => {
  const tool = sendingTool("act", () => ({ kind: "done", content: "" }), { units: () => units });
  const call = { name: "act", args: "{}", argsHash: "h", requires: [] };
  const body = JSON.parse(
    approvalCard(call, tool, { verdict: "ask", row: "24", reason: "above_dial", args: {} }).body,
  ) as CardBody;
  expect(body.remembers).toEqual(remembers);
});

test("AZ62: what looks like a secret is hidden in all that a card shows, and runs unchanged", async () => {
  const secret = "Bearer abc.def";
  const hide = (text: string): string => text.replaceAll(/Bearer [\w.]+/g, "[hidden]");
  const ran: unknown[] = [];
  const tool = sendingTool(
    "act",
    (args) => {
      ran.push(args);
      return { kind: "done", content: "" };
    },
    {
      details: ({ header }: { header: string }) => [`Header: ${header}`],
      units: ({ header }: { header: string }) => [header],
      propose: async ({ header }: { header: string }) => ({
        kind: "proposed",
        message: `sends ${header}`,
        preview: `+${header}`,
        preconditions: [{ kind: "file", name: header, hash: "1" }],
      }),
    },
  );
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(
    sql,
    [tool],
    ({ turn }) =>
      turn === 0 ? { say: `I send ${secret}`, use: [{ tool: "act", args: { header: secret } }] } : { say: "" },
    {
      scrubberOf: async () => ({
        text: (text) => text,
        display: hide,
        createStream: () => ({ push: (piece) => piece, end: () => "" }),
      }),
    },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [row] = await sql<{ card: string; title: string }[]>`
    select a.card, t.title from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId}`;
  expect(JSON.stringify(row)).not.toContain("abc.def");
  expect(JSON.parse(row?.card ?? "")).toMatchObject({ message: "sends [hidden]", preview: "+[hidden]" });
  await decidePending(sql, world, runId, "approve");
  await driveRun(engine, runId);
  expect(ran).toEqual([{ header: secret }]);
});

test("AZ63: what is hidden in one argument takes no other with it", () => {
  const tool = sendingTool("act", () => ({ kind: "done", content: "" }));
  const call = (args: string) => ({ name: "act", args, argsHash: "h", requires: [] });
  const verdict = { verdict: "ask", row: "24", reason: "above_dial", args: {} } as const;
  const hide = (text: string, key?: string) => (key === "pass" ? "[hidden]" : text.replace(/BEGIN.*END/s, "[hidden]"));
  const argsOf = (args: string) => (JSON.parse(approvalCard(call(args), tool, verdict, hide).body) as CardBody).args;
  const args = '{"note":"BEGIN","to":["evil@example.com"],"n":9007199254740993,"n":1,"end":"END"}';
  expect(argsOf(args)).toBe(args);
  expect(argsOf('{"a":"BEGIN x END","pass":["b"]}')).toBe('{"a":"[hidden]","pass":["[hidden]"]}');
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

test("a character that looks like another is named on the card, with where it stands", () => {
  const host = "p\u0430ypal.com";
  const tool = sendingTool("act", () => ({ kind: "done", content: "" }), { units: () => [`curl ${host}`, "ls"] });
  const call = { name: "act", args: "{}", argsHash: "h", requires: [] };
  const verdict = { verdict: "ask", row: "14", reason: "confusable", args: {} } as const;
  const body = JSON.parse(approvalCard(call, tool, verdict).body) as CardBody;
  expect(body.lookalikes).toEqual([`\u0430 (U+0430) in ${host}`]);
});
