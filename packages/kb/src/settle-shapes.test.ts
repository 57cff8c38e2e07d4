import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { editNode } from "./edit-node.ts";
import { parseOkf } from "./parse-okf.ts";
import { removeNode } from "./remove-node.ts";
import { settleShapes } from "./settle-shapes.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

const beginnings = {
  "a rule": "---\ntype: N\n---\n\n---\n\nIntro\n\n---\n\n- a\n- b\n",
  "what would be frontmatter": "---\ntype: N\n---\n---\ntype: M\n---\n- a\n- b\n",
  "a mark of byte order": "---\ntype: N\n---\n\uFEFF# Head\n\n- a\n- b\n",
  "a body whose lines end otherwise": "---\ntype: N\n---\n# Head\r\n\r\n- a\r\n- b\r\n",
  "lines that all end alike but the last": "---\r\ntype: N\r\n---\r\n# Head\r\n\r\n- a\r\n- b\n",
};

test.each(Object.entries(beginnings))("below its frontmatter a page may begin with %s", async (_name, source) => {
  const me = await newWorkspace(sql);
  const made = await act.importFile(me, "m.md", source);
  if (made.kind !== "imported") throw new Error(made.kind);
  const { id } = made.page;
  const undoLast = async () => {
    const [command] = await sql<{ id: string }[]>`
      select id from commands where page_id = ${id} order by revision desc limit 1`;
    return await act.do(me, (writer) => undoCommand(writer, command?.id ?? ""));
  };
  expect(await act.do(me, (writer) => appendBullet(writer, { page: id, text: "new" }))).toMatchObject({
    kind: "appended",
  });
  expect(await undoLast()).toMatchObject({ kind: "undone" });
  expect(await act.text(me, id)).toBe(source);

  await act.do(me, (writer) => appendBullet(writer, { page: id, text: "new" }));
  const merged = await act.edit(me, { page: id, okf: source.replace("- a", "- A"), revision: 1 });
  expect(merged).toMatchObject({ kind: "applied", isMerged: true, changed: 1, removed: 0 });

  const nodes = await sql<{ id: string }[]>`
    select id from nodes where page_id = ${id} order by order_key collate "C", id`;
  const [first, last] = [nodes[0]?.id ?? "", nodes.at(-1)?.id ?? ""];
  expect(await act.do(me, (writer) => removeNode(writer, last))).toMatchObject({ kind: "removed" });
  expect(await undoLast()).toMatchObject({ kind: "undone" });
  expect(await act.do(me, (writer) => editNode(writer, { nodeId: first, okf: "- first\n" }))).toMatchObject({
    kind: "applied",
  });
  expect(await undoLast()).toMatchObject({ kind: "undone" });
});

test("what would be frontmatter settles below one, and nowhere else", () => {
  const nodes = parseOkf("---\ntype: N\n---\n---\ntype: M\n---\n").nodes.map((node, n) => ({
    ...node,
    id: String(n),
    parentId: null,
  }));
  expect(settleShapes(nodes, "---\ntype: N\n---\n")).toEqual(nodes);
  expect(settleShapes(nodes, "")).toBeUndefined();
});
