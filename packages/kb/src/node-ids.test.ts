import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { editNode } from "./edit-node.ts";
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

test("KN01, KN03: an id that a bullet elsewhere on the page has stays that one's, whatever a fragment carries it", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n- two\n  - below\n");
  const [one = "", two = "", below = ""] = await act.ids(me, page.id);
  const okf = `- two <!--${two}-->\n  - below <!--${below}-->\n  - one, moved <!--${one}-->\n`;
  const edited = await act.do(me, (writer) => editNode(writer, { nodeId: two, okf }));
  expect(edited).toMatchObject({ kind: "applied", added: 1, warnings: [expect.stringContaining(one)] });
  expect(await act.outline(me, page.id)).toBe("- one\n- two\n  - below\n  - one, moved\n");
  expect((await act.ids(me, page.id)).slice(0, 3)).toEqual([one, two, below]);

  await act.do(me, (writer) => removeNode(writer, one));
  const late = { nodeId: two, okf: okf.replace("moved", "late"), revision: page.revision };
  expect(await act.do(me, (writer) => editNode(writer, late))).toMatchObject({
    kind: "applied",
    isMerged: true,
    warnings: [expect.stringContaining(one)],
  });
  expect(await act.outline(me, page.id)).toBe("- two\n  - below\n  - one, moved\n  - one, late\n");
});

test("KN04: a bullet that was put in since is changed and moved by its id, and not doubled, unless others changed it too", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "A", "- one\n- two\n");
  const read = await act.outline(me, page.id, true);
  const append = async (text: string, parent?: string) => {
    const added = await act.do(me, (writer) => appendBullet(writer, { page: page.id, text, parent }));
    if (added.kind !== "appended") throw new Error(added.kind);
    return added.nodeId;
  };
  const [first, second] = [await append("new"), await append("theirs")];
  const send = (text: string) => act.edit(me, { page: page.id, revision: page.revision, okf: text });
  const changed = read.replace("- two", `- new, changed <!--${first}-->\n- two`);
  expect(await send(changed)).toMatchObject({ kind: "applied", isMerged: true, added: 0, warnings: [] });
  expect(await act.outline(me, page.id)).toBe("- one\n- new, changed\n- two\n- theirs\n");
  expect((await act.ids(me, page.id))[1]).toBe(first);

  expect(await send(`${read}- mine now <!--${first}-->\n`)).toMatchObject({ kind: "stale", nodeIds: [first] });
  expect(await act.ids(me, page.id)).toContain(second);

  const [one = ""] = await act.ids(me, page.id);
  const below = await append("below", one);
  const okf = `- one <!--${one}-->\n  - below, changed <!--${below}-->\n`;
  const edited = await act.do(me, (writer) => editNode(writer, { nodeId: one, okf, revision: page.revision }));
  expect(edited).toMatchObject({ kind: "applied", added: 0, changed: 1, warnings: [] });
  expect(await act.outline(me, page.id)).toBe("- one\n  - below, changed\n- new, changed\n- two\n- theirs\n");
});
