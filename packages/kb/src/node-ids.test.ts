import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { removeNode, removePage } from "./remove-node.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

test("an id that a node had is no other page's, also once the node is removed: undo brings it back", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n- two\n");
  const [one = "", two = ""] = await act.ids(me, page.id);
  const removed = await act.do(me, (writer) => removeNode(writer, one));
  await act.edit(me, { page: page.id, okf: "- new\n" });

  const other = await act.edit(me, { page: "B", okf: `- mine <!--${one}-->\n- too <!--${two}-->\n` });
  expect(other).toMatchObject({ kind: "applied", warnings: [expect.stringContaining(one), expect.anything()] });
  const imported = await act.importFile(me, "c.md", `- mine <!--${one}-->\n`);
  expect(imported).toMatchObject({ kind: "imported", warnings: [expect.stringContaining(one)] });
  if (removed.kind !== "removed") throw new Error(removed.kind);
  expect(await act.do(me, (writer) => undoCommand(writer, removed.commandId))).toMatchObject({ kind: "undone" });
  expect(await act.ids(me, page.id)).toContain(one);
});

test("an id of a page that was removed is no other page's", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n");
  const [one = ""] = await act.ids(me, page.id);
  await act.do(me, (writer) => removePage(writer, page.id));
  const other = await act.page(me, "B", `- mine <!--${one}-->\n`);
  expect(await act.ids(me, other.id)).not.toContain(one);
});

test("a bullet that is put back on the page it was taken from has its id again", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n- two\n");
  const before = await act.outline(me, page.id, true);
  await act.edit(me, { page: page.id, okf: "# Nothing\n" });
  expect(await act.edit(me, { page: page.id, okf: before })).toMatchObject({ kind: "applied", warnings: [] });
  expect(await act.outline(me, page.id, true)).toBe(before);
});

test("of pages that are made at once with one new id, one has it, and each is made", async () => {
  const me = await newWorkspace(sql);
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const made = await Promise.all(
    ["A", "B", "C", "D"].map((title, n) => {
      const given = n % 2 === 0 ? ids : ids.toReversed();
      return act.edit(me, { page: title, okf: given.map((id) => `- of ${title} <!--${id}-->\n`).join("") });
    }),
  );
  expect(made.map(({ kind }) => kind)).toEqual(["applied", "applied", "applied", "applied"]);
  const kept = await sql`select distinct page_id from nodes where id = any(${ids}::uuid[])`;
  expect(kept).toHaveLength(1);
});

test("undo says so where a node that would come back stands on another page", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n- two\n");
  const other = await act.page(me, "B", "- other\n");
  const [one = ""] = await act.ids(me, page.id);
  const removed = await act.do(me, (writer) => removeNode(writer, one));
  if (removed.kind !== "removed") throw new Error(removed.kind);
  await sql`update nodes set id = ${one} where page_id = ${other.id}`;
  expect(await act.do(me, (writer) => undoCommand(writer, removed.commandId))).toMatchObject({
    kind: "conflict",
    reason: expect.stringContaining("another page"),
  });
});
