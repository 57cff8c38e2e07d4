import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { grepNodes, type GrepQuery } from "./grep-nodes.ts";
import { importPage } from "./import-page.ts";
import { newWorkspace, type TestWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();

async function workspaceWith(...texts: string[]) {
  const me = await newWorkspace(sql);
  const source = texts.map((text) => `- ${text}\n`).join("");
  await transaction(sql, (tx) => importPage({ tx, ...me }, { dir: "", fileName: "P.md", source }));
  return me;
}

function grep(me: TestWorkspace, query: GrepQuery) {
  return transaction(sql, (tx) => grepNodes({ tx, ...me }, query));
}

async function textsFound(me: TestWorkspace, query: GrepQuery): Promise<string[]> {
  const result = await grep(me, query);
  if (result.kind !== "found") throw new Error(`expected matches, got ${JSON.stringify(result)}`);
  return result.matches.map((match) => match.excerpt);
}

test("KN17: a literal pattern is literal, wildcards and a lone backslash too", async () => {
  const texts = ["50% off", "500 off", "a_b", "axb", "ends in \\", "C:\\dir", "(x) [y] .*", "''"];
  const me = await workspaceWith(...texts);
  const cases: [string, string[]][] = [
    ["50%", ["50% off"]],
    ["a_b", ["a_b"]],
    ["\\", ["ends in \\", "C:\\dir"]],
    ["in \\", ["ends in \\"]],
    ["\\d", ["C:\\dir"]],
    ["%", ["50% off"]],
    ["_", ["a_b"]],
    [".*", ["(x) [y] .*"]],
    ["'", ["''"]],
  ];
  for (const [pattern, found] of cases) {
    expect(await textsFound(me, { pattern }), pattern).toEqual(found);
  }
});

test("KN16: Chinese words, emoji and letters with accents are found, in any case", async () => {
  const me = await workspaceWith("验证用户身份", "ship it 🚀 now", "l'École", "plain");
  expect(await textsFound(me, { pattern: "用户" })).toEqual(["验证用户身份"]);
  expect(await textsFound(me, { pattern: "🚀" })).toEqual(["ship it 🚀 now"]);
  expect(await textsFound(me, { pattern: "ÉCOLE" })).toEqual(["l'École"]);
  expect(await textsFound(me, { pattern: "é.ole", regex: true })).toEqual(["l'École"]);
});

test("the total counts every match, and limit bounds only what is listed", async () => {
  const me = await workspaceWith(...Array.from({ length: 130 }, (_, n) => `item ${n}`));
  const usual = await grep(me, { pattern: "ITEM" });
  expect(usual.kind === "found" && [usual.matches.length, usual.total]).toEqual([100, 130]);
  const few = await grep(me, { pattern: "item", limit: 2 });
  expect(few.kind === "found" && few.matches.map((match) => match.excerpt)).toEqual(["item 0", "item 1"]);
  expect(await grep(me, { pattern: "absent" })).toEqual({ kind: "found", matches: [], total: 0 });
});

test("a long node is shown around its first match", async () => {
  const me = await workspaceWith(`${"a".repeat(5_000)} needle ${"b".repeat(5_000)}`);
  for (const query of [{ pattern: "NEEDLE" }, { pattern: "n[e]+dle", regex: true }]) {
    const [excerpt] = await textsFound(me, query);
    expect(excerpt).toMatch(/^…a{79,80} needle b+…$/);
    expect(excerpt).toHaveLength(302);
  }
});

test("another workspace's nodes are never found", async () => {
  await workspaceWith("our secret plan");
  const other = await newWorkspace(sql);
  expect(await grep(other, { pattern: "secret" })).toMatchObject({ total: 0 });
  expect(await grep(other, { pattern: "secret", regex: true })).toMatchObject({ total: 0 });
});

test.each([
  ["(a)\\1", "Back-references"],
  ["(a)\\\\\\1", "Back-references"],
  ["***=a", "***"],
  ["***:(a)", "***"],
  ["(a", "no regular expression"],
  ["a{1,2", "no regular expression"],
  ["[z-a]", "no regular expression"],
  ["a\\", "no regular expression"],
  ["a\0", "NUL"],
  ["", "empty"],
])("the expression %j is refused, saying why, and the transaction goes on", async (pattern, why) => {
  const me = await workspaceWith("aa");
  await transaction(sql, async (tx) => {
    const result = await grepNodes({ tx, ...me }, { pattern, regex: true });
    expect(result).toMatchObject({ kind: "refused", reason: expect.stringContaining(why) });
    expect(await tx`select 1 as one`).toEqual([{ one: 1 }]);
  });
});

test("what looks like a back-reference but is none is allowed", async () => {
  const me = await workspaceWith("C:\\1", "x ***");
  expect(await textsFound(me, { pattern: ":\\\\1", regex: true })).toEqual(["C:\\1"]);
  expect(await textsFound(me, { pattern: "***" })).toEqual(["x ***"]);
  expect(await textsFound(me, { pattern: "\\1" })).toEqual(["C:\\1"]);
});

test("a search that takes longer than a second ends, and its transaction may still write", async () => {
  const me = await workspaceWith("a");
  await transaction(sql, async (tx) => {
    const answer = await transaction(sql, async (other) => {
      await other`lock table nodes in access exclusive mode`;
      return grepNodes({ tx, ...me }, { pattern: "a" });
    });
    expect(answer).toEqual({ kind: "timeout" });
    await tx`update pages set title = title where workspace_id = ${me.workspaceId}`;
    expect(await tx`show statement_timeout`).toEqual([{ statement_timeout: "0" }]);
  });
});
