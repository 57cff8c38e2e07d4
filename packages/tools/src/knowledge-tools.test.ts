import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { describe, expect, test } from "vitest";
import { kbAppend } from "./kb-append.ts";
import { kbCreate } from "./kb-create.ts";
import { kbGrep } from "./kb-grep.ts";
import { kbRead } from "./kb-read.ts";
import { callTool, type Caller } from "./testing/call-tool.ts";

const { sql } = await testDatabase();
const id = /[0-9a-f]{8}-[0-9a-f-]{27}/;

async function newCaller(): Promise<Caller> {
  const workspaceId = randomUUID();
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'test')`;
  return { workspaceId, runId: randomUUID(), userId: randomUUID() };
}

function firstId(content: string): string {
  return id.exec(content)?.[0] ?? "";
}

test("a page is created, filled, read with the ids of its bullets, and found", async () => {
  const me = await newCaller();
  const created = await callTool(sql, kbCreate, me, { title: "Notes", dir: "Team" });
  expect(created.content).toMatch(
    /^title: Notes\nid: .{36}\ndir: team\nrevision: 1\n\nThe page is new, with 0 nodes\.$/,
  );
  const bullet = await callTool(sql, kbAppend, me, { page: "Notes", text: "call **Ann**\ntoday" });
  const bulletId = /Added bullet (\S+)/.exec(bullet.content)?.[1] ?? "";
  expect(bullet.content).toMatch(/now at revision 2\.$/);
  await callTool(sql, kbAppend, me, { page: "notes", text: "child", parent: bulletId });

  const read = await callTool(sql, kbRead, me, { page: "Notes" });
  expect(read.kind).toBe("done");
  expect(read.content).toContain(`title: Notes\nid: ${firstId(created.content)}\ndir: team\nrevision: 3\n`);
  expect(read.content).toMatch(
    new RegExp(`- call \\*\\*Ann\\*\\* <!--${bulletId}-->\n  today\n  - child <!--${id.source}-->\n$`),
  );
  const found = await callTool(sql, kbGrep, me, { pattern: "**ann**" });
  expect(found.content).toBe(`Notes › ${bulletId}: call **Ann** ↵ today\n1 match in all.`);
});

test("what a call writes names its run, its call and its user", async () => {
  const me = await newCaller();
  await callTool(sql, kbCreate, me, { title: "Notes" });
  const [command] = await sql`select * from commands where workspace_id = ${me.workspaceId}`;
  expect(command).toMatchObject({ run_id: me.runId, user_id: me.userId, kind: "page.created" });
});

test("a title that is taken is a failed result that names the page", async () => {
  const me = await newCaller();
  const first = await callTool(sql, kbCreate, me, { title: "Notes" });
  const again = await callTool(sql, kbCreate, me, { title: "NOTES", dir: "elsewhere" });
  expect(again.kind).toBe("failed");
  expect(again.content).toContain(`"Notes" (id ${firstId(first.content)})`);
});

test("a missing page is a failed result with the nearest titles", async () => {
  const me = await newCaller();
  await callTool(sql, kbCreate, me, { title: "Release plan" });
  for (const [tool, args] of [
    [kbAppend, { page: "Release plans", text: "x" }],
    [kbRead, { page: "Relese plan" }],
  ] as const) {
    const result = await callTool(sql, tool, me, args);
    expect(result).toMatchObject({ kind: "failed", content: expect.stringContaining('"Release plan"') });
  }
  const nothing = await callTool(sql, kbRead, me, { page: "zzz" });
  expect(nothing).toMatchObject({ kind: "failed", content: expect.stringContaining("kb.grep") });
});

describe("a search", () => {
  test("that finds more than it lists says that it is truncated, and by how much", async () => {
    const me = await newCaller();
    await callTool(sql, kbCreate, me, { title: "Notes" });
    for (const n of [1, 2, 3]) await callTool(sql, kbAppend, me, { page: "Notes", text: `item ${n}` });
    const result = await callTool(sql, kbGrep, me, { pattern: "item", limit: 2 });
    expect(result.content).toContain("Truncated: 2 of 3 matches are shown.");
    expect(result.content.split("\n")).toHaveLength(3);
  });

  test("with an expression that is refused is invalid arguments, not an error", async () => {
    const me = await newCaller();
    for (const pattern of ["(a)\\1", "***=a", "(", "a\0"]) {
      const result = await callTool(sql, kbGrep, me, { pattern, regex: true });
      expect(result).toMatchObject({ kind: "failed", code: "invalid_args" });
    }
  });

  test("and a read see nothing of another workspace", async () => {
    const me = await newCaller();
    const other = await newCaller();
    const created = await callTool(sql, kbCreate, me, { title: "Secret" });
    await callTool(sql, kbAppend, me, { page: "Secret", text: "the plan" });
    const pageId = firstId(created.content);
    expect((await callTool(sql, kbGrep, other, { pattern: "plan" })).content).toBe("No matches.");
    for (const page of ["Secret", pageId]) {
      const read = await callTool(sql, kbRead, other, { page });
      expect(read.kind).toBe("failed");
      expect(read.content).not.toContain("Secret (id");
      expect(await callTool(sql, kbAppend, other, { page, text: "x" })).toMatchObject({ kind: "failed" });
    }
  });
});

test.each([
  [kbCreate, { title: "a\0b" }],
  [kbCreate, { title: "a\ud800" }],
  [kbCreate, { title: " " }],
  [kbCreate, { title: "a\nb" }],
  [kbCreate, { title: "T", text: "- content that would be lost" }],
  [kbAppend, { page: "P", text: "a\0" }],
  [kbAppend, { page: "P", text: "" }],
  [kbAppend, { page: "P", text: "x", parent: "first" }],
  [kbGrep, { pattern: "" }],
  [kbGrep, { pattern: "a", limit: 501 }],
  [kbRead, {}],
])("the schema of $name refuses %j", (tool, args) => {
  expect(tool.schema.safeParse(args).success).toBe(false);
});
