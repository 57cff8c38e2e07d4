import { testDatabase } from "@countersign/db/testing/test-database.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { listHistory, readCommand } from "./list-history.ts";
import { lookupPage } from "./lookup.ts";
import { movePage } from "./move-page.ts";
import { removeNode, removePage } from "./remove-node.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { usualText } from "./testing/pages.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

async function lastCommand(pageId: string): Promise<string> {
  const [row] = await sql<
    { id: string }[]
  >`select id from commands where page_id = ${pageId} order by revision desc limit 1`;
  return row?.id ?? "";
}

function undo(by: Person, id: string) {
  return act.do(by, (writer) => undoCommand(writer, id));
}

test("taking an edit back restores the page to the byte and its ids, and taking that back brings the edit again", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n  - b\n- c\n\n# H\n\n- d\n");
  const before = await act.text(me, page.id, true);
  await act.edit(me, { page: page.id, okf: "---\ntype: Other\ntitle: P\n---\n- d\n- A\n\t- new\n- c\n" });
  const after = await act.text(me, page.id, true);
  const command = await lastCommand(page.id);
  expect(await undo(me, command)).toMatchObject({ kind: "undone", page: { revision: 3, type: "Page" } });
  expect(await act.text(me, page.id, true)).toBe(before);
  expect(await undo(me, await lastCommand(page.id))).toMatchObject({ kind: "undone", page: { revision: 4 } });
  expect(await act.text(me, page.id, true)).toBe(after);
  expect(await undo(me, command)).toMatchObject({ kind: "already" });
});

test("what is removed bullet by bullet and taken back, last first, stands in the order that it had", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- b\n  - x\n  - y\n- c\n");
  const before = await act.text(me, page.id, true);
  const [a = "", b = "", x = "", y = "", c = ""] = await act.ids(me, page.id);
  const commands: string[] = [];
  for (const id of [x, y, a, b, c]) {
    await act.do(me, (writer) => removeNode(writer, id));
    commands.push(await lastCommand(page.id));
  }
  for (const command of commands.toReversed()) expect(await undo(me, command)).toMatchObject({ kind: "undone" });
  expect(await act.text(me, page.id, true)).toBe(before);
});

test("edits that are taken back, last first, each leave the page to the byte as it was before them", async () => {
  const me = await newWorkspace(sql);
  await fc.assert(
    fc.asyncProperty(fc.array(usualText, { minLength: 2, maxLength: 5 }), async (texts) => {
      const page = await act.page(me, crypto.randomUUID(), "- a\n");
      const steps: { readonly text: string; readonly command: string }[] = [];
      for (const okf of texts) {
        const text = await act.text(me, page.id, true);
        const result = await act.edit(me, { page: page.id, okf: okf.replaceAll("[[Plan]]", "plan") });
        if (result.kind === "applied") steps.push({ text, command: result.commandId });
      }
      for (const { text, command } of steps.toReversed()) {
        expect(await undo(me, command)).toMatchObject({ kind: "undone" });
        expect(await act.text(me, page.id, true)).toBe(text);
      }
    }),
    { numRuns: 15 },
  );
});

test("taking an edit back leaves what others did elsewhere on the page", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- b\n");
  await act.edit(me, { page: page.id, okf: "- a!\n- b\n" });
  const command = await lastCommand(page.id);
  await act.do(me, (writer) => appendBullet(writer, { page: page.id, text: "c" }));
  expect(await undo(me, command)).toMatchObject({ kind: "undone" });
  expect(await act.outline(me, page.id)).toBe("- a\n- b\n- c\n");
});

test("what was changed again since is not taken back, and nothing is written", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- b\n");
  await act.edit(me, { page: page.id, okf: "- a!\n- b\n" });
  const first = await lastCommand(page.id);
  await act.edit(me, { page: page.id, okf: "- a!!\n- b\n" });
  expect(await undo(me, first)).toMatchObject({ kind: "conflict", page: { revision: 3 } });
  const [a = ""] = await act.ids(me, page.id);
  await act.do(me, (writer) => appendBullet(writer, { page: page.id, text: "child", parent: a }));
  const appended = await lastCommand(page.id);
  await act.do(me, (writer) => removeNode(writer, a));
  expect(await undo(me, appended)).toMatchObject({ kind: "conflict" });
});

test("a bullet that was added is not taken away with what somebody put below it", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n");
  await act.do(me, (writer) => appendBullet(writer, { page: page.id, text: "b" }));
  const command = await lastCommand(page.id);
  const [, b = ""] = await act.ids(me, page.id);
  await act.do(me, (writer) => appendBullet(writer, { page: page.id, text: "c", parent: b }));
  expect(await undo(me, command)).toMatchObject({ kind: "conflict" });
  expect(await act.outline(me, page.id)).toBe("- a\n- b\n  - c\n");
});

test("a node that was removed comes back with all that was below it, in its place and under its ids", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- b\n  - c\n    - d\n- e\n");
  const before = await act.text(me, page.id, true);
  const [, b = ""] = await act.ids(me, page.id);
  const removed = await act.do(me, (writer) => removeNode(writer, b));
  expect(removed).toMatchObject({ kind: "removed", nodeCount: 3 });
  expect(await act.outline(me, page.id)).toBe("- a\n- e\n");
  await undo(me, await lastCommand(page.id));
  expect(await act.text(me, page.id, true)).toBe(before);
});

test("a page that was removed is nowhere, and comes back as it was; one that was made can be taken back", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n");
  const made = await lastCommand(page.id);
  const before = await act.text(me, page.id, true);
  await act.do(me, (writer) => removePage(writer, page.id));
  expect((await act.do(me, (reader) => lookupPage(reader, "P"))).kind).toBe("missing");
  const removed = await lastCommand(page.id);
  expect((await act.do(me, (reader) => listHistory(reader, { limit: 5 })))[0]).toMatchObject({
    id: removed,
    kind: "page.removed",
  });
  expect(await undo(me, removed)).toMatchObject({ kind: "undone" });
  expect(await act.text(me, page.id, true)).toBe(before);
  expect(await undo(me, made)).toMatchObject({ kind: "conflict" });
  const other = await act.page(me, "Q", "- a\n");
  expect(await undo(me, await lastCommand(other.id))).toMatchObject({ kind: "undone" });
  expect((await act.do(me, (reader) => lookupPage(reader, "Q"))).kind).toBe("missing");
});

test("a rename and a move are taken back, links and all", async () => {
  const me = await newWorkspace(sql);
  const page = await act.importFile(me, "dir/Target.md", "- a\n");
  if (page.kind !== "imported") throw new Error(page.kind);
  const source = await act.page(me, "Source", "- see [[Target]]\n");
  await act.do(me, (writer) => movePage(writer, { pageId: page.page.id, title: "Renamed" }));
  expect(await act.outline(me, source.id)).toBe("- see [[Renamed]]\n");
  expect(await undo(me, await lastCommand(page.page.id))).toMatchObject({ kind: "undone", page: { title: "Target" } });
  expect(await act.outline(me, source.id)).toBe("- see [[Target]]\n");
  expect(await act.text(me, page.page.id)).toBe("- a\n");
  await act.do(me, (writer) => movePage(writer, { pageId: page.page.id, dir: "Other Place" }));
  expect(await undo(me, await lastCommand(page.page.id))).toMatchObject({ kind: "undone", page: { dir: "dir" } });
});

test("every past revision can be read back from the log", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n");
  const texts = ["- a\n- b\n", "- b\n", "- b\n  - c\n", "- c\n- b\n"];
  for (const okf of texts) await act.edit(me, { page: page.id, okf });
  const history = await act.do(me, (reader) => listHistory(reader, { pageId: page.id, limit: 10 }));
  expect(history.map(({ revision }) => revision)).toEqual([5, 4, 3, 2, 1]);
  const edit = await act.do(me, (reader) => readCommand(reader, history[2]?.id ?? ""));
  expect(edit?.before.nodes?.map(({ text }) => text)).toEqual(["a"]);
  expect(edit?.after.nodes).toEqual([]);
});

test("a title that another page has meanwhile is not taken from it, whether a rename or a removal is taken back", async () => {
  const me = await newWorkspace(sql);
  const renamed = await act.page(me, "P", "- p\n");
  await act.do(me, (writer) => movePage(writer, { pageId: renamed.id, title: "Q" }));
  const rename = await lastCommand(renamed.id);
  await act.page(me, "p", "- another\n");
  expect(await undo(me, rename)).toMatchObject({ kind: "conflict", reason: expect.stringContaining('"P"') });

  const gone = await act.page(me, "R", "- r\n");
  await act.do(me, (writer) => removePage(writer, gone.id));
  const other = await act.page(me, "R", "- another\n");
  expect(await undo(me, await lastCommand(gone.id))).toMatchObject({ kind: "conflict" });
  await act.do(me, (writer) => movePage(writer, { pageId: other.id, title: "S" }));
  expect(await undo(me, await lastCommand(gone.id))).toMatchObject({ kind: "undone" });
});

test("of files that have one title in several places, one that was removed comes back", async () => {
  const me = await newWorkspace(sql);
  await act.importFile(me, "a/index.md", "- a\n");
  const gone = await act.importFile(me, "b/index.md", "- b\n");
  if (gone.kind !== "imported") throw new Error(gone.kind);
  await act.do(me, (writer) => removePage(writer, gone.page.id));
  expect(await undo(me, await lastCommand(gone.page.id))).toMatchObject({ kind: "undone" });
});

describe("KN14: a program", () => {
  async function given() {
    const me = await newWorkspace(sql);
    return { me, program: { ...me, isPerson: false } };
  }

  test("does not bring back by undo that a person verified a page; a person does", async () => {
    const { me, program } = await given();
    const page = await act.page(me, "P", '---\ntype: Page\nverified: {by: "human:ann"}\n---\n- x\n');
    const text = await act.text(me, page.id);
    await act.edit(me, { page: page.id, okf: text.replace(/verified.*\n/, "") });
    const command = await lastCommand(page.id);
    expect(await undo(program, command)).toMatchObject({
      kind: "conflict",
      reason: expect.stringMatching(/^Only a person can say that a person verified.*[^.]$/),
    });
    expect(await act.text(me, page.id)).not.toContain("human:ann");
    expect(await undo(me, command)).toMatchObject({ kind: "undone" });
    expect(await act.text(me, page.id)).toBe(text);
    expect(await undo(program, await lastCommand(page.id))).toMatchObject({ kind: "undone" });
  });

  test("does not make a page begin like frontmatter by removing what is above, or by undo", async () => {
    const { me, program } = await given();
    const page = await givenFile(me, "hello\n");
    const head = '---\n\nverified: {by: "human:ann"}\n';
    expect(await act.edit(program, { page: page.id, okf: `x\n\n${head}\nhello\n` })).toMatchObject({ kind: "applied" });
    const text = await act.text(me, page.id);
    const first = await idOf(page.id, "x");
    expect(await act.do(program, (writer) => removeNode(writer, first))).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("line of dashes"),
    });
    expect(await act.text(me, page.id)).toBe(text);
    expect(await act.do(me, (writer) => removeNode(writer, first))).toMatchObject({ kind: "removed" });
    await act.edit(me, { page: page.id, okf: `y\n\n${head}\nhello\n` });
    expect(await undo(program, await lastCommand(page.id))).toMatchObject({
      kind: "conflict",
      reason: expect.stringContaining("line of dashes"),
    });
  });
});

test("what would be read otherwise once a node is gone keeps it, whoever removes it", async () => {
  const me = await newWorkspace(sql);
  const page = await givenFile(me, 'x\n\n---\nverified: {by: "human:ann"}\n---\n\nhello\n');
  const text = await act.text(me, page.id);
  const first = await idOf(page.id, "x");
  expect(await act.do(me, (writer) => removeNode(writer, first))).toMatchObject({ kind: "refused" });
  expect(await act.text(me, page.id)).toBe(text);
});

async function idOf(pageId: string, text: string): Promise<string> {
  const [node] = await sql<{ id: string }[]>`select id from nodes where page_id = ${pageId} and text = ${text}`;
  return node?.id ?? "";
}

async function givenFile(me: Person, source: string) {
  const done = await act.importFile(me, "a.md", source);
  if (done.kind !== "imported") throw new Error(done.kind);
  return done.page;
}

test("taking an import back that changed how the lines end brings the old ends back, whatever else was changed since", async () => {
  const me = await newWorkspace(sql);
  const made = await act.importFile(me, "a.md", "- a\r\n- b\r\n");
  if (made.kind !== "imported") throw new Error(made.kind);
  const { id } = made.page;
  const lineEnd = async () => (await sql`select line_end from pages where id = ${id}`)[0]?.["line_end"];
  await act.importFile(me, "a.md", "- a\n- b\n");
  const command = await lastCommand(id);
  await act.edit(me, { page: id, okf: "---\ntype: Other\n---\n- a\n- b\n" });
  expect(await undo(me, command)).toMatchObject({ kind: "undone", page: { type: "Other" } });
  expect(await lineEnd()).toBe("\r\n");
  expect(await undo(me, await lastCommand(id))).toMatchObject({ kind: "undone" });
  expect(await lineEnd()).toBe("\n");
});

test.for([
  ["the order", "- a\n- b\n- c\n- d\n", "- b\n- c\n- d\n- a\n", "- b\n- a\n- c\n- d\n"],
  ["a bullet's sign", "- a\n- b\n", "* a\n- b\n", "+ a\n- b\n"],
  ["blank lines", "- a\n- b\n", "- a\n\n- b\n", "- a\n\n\n\n- b\n"],
  ["the indentation", "- a\n  - b\n", "- a\n    - b\n", "- a\n\t- b\n"],
] as const)("%s that somebody changed since stays, and the undo says so", async ([, first, second, third]) => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, crypto.randomUUID(), first);
  await act.edit(me, { page: page.id, okf: second });
  const command = await lastCommand(page.id);
  await act.edit(me, { page: page.id, okf: third });
  const stands = await act.text(me, page.id, true);
  expect(await undo(me, command)).toMatchObject({ kind: "conflict" });
  expect(await act.text(me, page.id, true)).toBe(stands);
});

test("a form that somebody changed since stays, and the words beside it are taken back", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- b\n");
  await act.edit(me, { page: page.id, okf: "* a\n- other\n" });
  const command = await lastCommand(page.id);
  await act.edit(me, { page: page.id, okf: "+ a\n- other\n" });
  expect(await undo(me, command)).toMatchObject({ kind: "undone" });
  expect(await act.text(me, page.id, false)).toMatch(/\n\+ a\n- b\n$/);
});
