import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { describe, expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { exportPages, listExportPaths, type ExportedFile } from "./export-pages.ts";
import { movePage } from "./move-page.ts";
import { removePage } from "./remove-node.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

function exported(me: Person): Promise<ExportedFile[]> {
  return act.do(me, async (reader) => await exportPages(reader, await listExportPaths(reader, {})));
}

async function importAll(
  me: Person,
  files: readonly Pick<ExportedFile, "path" | "text">[],
): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (const { path, text } of files) outcomes[path] = (await act.importFile(me, path, text)).kind;
  return outcomes;
}

async function imported(me: Person, path: string, source: string) {
  const result = await act.importFile(me, path, source);
  if (result.kind !== "imported") throw new Error(JSON.stringify(result));
  return result.page;
}

async function countPages({ workspaceId }: Person): Promise<number> {
  return (await sql`select from pages where workspace_id = ${workspaceId} and removed_at is null`).length;
}

function move(me: Person, pageId: string, to: { dir?: string; title?: string }) {
  return act.do(me, (writer) => movePage(writer, { pageId, ...to }));
}

async function append(me: Person, page: string, text: string) {
  const done = await act.do(me, (writer) => appendBullet(writer, { page, text }));
  if (done.kind !== "appended") throw new Error(done.kind);
}

test("what is written out and imported again is as it was: pages made, renamed, moved, imported and brought back here", async () => {
  const me = await newWorkspace(sql);
  await act.page(me, "Made", "- a\n- b\n", "notes");
  const renamed = await act.page(me, "Old name", "- of [[Made]]\n", "notes");
  await move(me, renamed.id, { title: "New name" });
  await act.page(me, "Old name", "- another\n", "notes");
  await act.page(me, "Empty", "");
  const moved = await act.page(me, "Moved", "# H\n\ntext\n", "notes");
  await move(me, moved.id, { dir: "archive" });
  const file = await imported(me, "bundle/x.md", "- x\r\n- y\r\n");
  await move(me, file.id, { dir: "archive" });
  await imported(me, "archive/x.md", "- quite another\n");
  const gone = await imported(me, "archive/back.md", "- back\n");
  const removal = await act.do(me, (writer) => removePage(writer, gone.id));
  if (removal.kind !== "removed") throw new Error(removal.kind);
  await act.do(me, (writer) => undoCommand(writer, removal.commandId));
  for (const title of ["Made", "New name", "Moved", "x"]) {
    const [page] = await sql<{ id: string }[]>`
      select id from pages where workspace_id = ${me.workspaceId} and title = ${title} limit 1`;
    await append(me, page?.id ?? "", "one more");
  }

  const [before, count] = [await exported(me), await countPages(me)];
  for (const order of [before, before.toReversed()]) {
    expect(await importAll(me, order)).toEqual(Object.fromEntries(before.map(({ path }) => [path, "unchanged"])));
    expect(await countPages(me)).toBe(count);
    expect(await exported(me)).toEqual(before);
  }
});

describe("a page that was made here", () => {
  test("takes what changed in its file since it was written out, at whatever place it stands by then", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "Made", "- a\n- b\n- c\n", "notes");
    const [file] = await exported(me);
    await move(me, page.id, { dir: "elsewhere", title: "Other" });
    await append(me, page.id, "here");
    const text = (file?.text ?? "").replace("- b", "- B");
    expect(await act.importFile(me, file?.path ?? "", text)).toMatchObject({ kind: "updated", page: { id: page.id } });
    expect(await act.outline(me, page.id)).toBe("- a\n- B\n- c\n- here\n");
    expect(await countPages(me)).toBe(1);
  });

  test("keeps what was changed here since its file was written out, and the import says so", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "Made", "- a\n");
    const files = await exported(me);
    await append(me, page.id, "here");
    expect(await act.importFile(me, "made.md", files[0]?.text ?? "")).toMatchObject({
      kind: "unchanged",
      warnings: [expect.stringContaining("revision 1")],
    });
    expect(await act.outline(me, page.id)).toBe("- a\n- here\n");
  });

  test("is not taken for a file of another title and text that comes to the same place", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Made", "- a\n");
    expect(await act.importFile(me, "made.md", "---\ntitle: Another\n---\n- other\n- text\n")).toMatchObject({
      kind: "imported",
    });
    expect(await countPages(me)).toBe(2);
    const files = await exported(me);
    expect(await importAll(me, files)).toEqual({ "made.md": "unchanged", "made-2.md": "unchanged" });
  });
});

test("a file of a page that was moved here is that page's, and its old place is free for another", async () => {
  const me = await newWorkspace(sql);
  const page = await imported(me, "a/x.md", "- one\n- two\n- three\n");
  await move(me, page.id, { dir: "b" });
  expect(await act.importFile(me, "a/x.md", "- one\n- two\n- three\n")).toMatchObject({ kind: "unchanged" });
  await append(me, page.id, "here");
  expect(await act.importFile(me, "a/x.md", "- one\n- TWO\n- three\n")).toMatchObject({ kind: "updated" });
  expect(await act.text(me, page.id)).toBe("- one\n- TWO\n- three\n- here\n");
  expect(await act.importFile(me, "b/x.md", "- of\n- another bundle\n")).toMatchObject({ kind: "imported" });
  expect(await act.importFile(me, "a/x.md", "- one\n- TWO\n- three\n")).toMatchObject({
    kind: "unchanged",
    page: { id: page.id },
  });
});

describe("a page that was removed here", () => {
  test("stays removed where its file comes again, which is said", async () => {
    const me = await newWorkspace(sql);
    const file = await imported(me, "y.md", "- y\n");
    const made = await act.page(me, "Made", "- a\n");
    const files = await exported(me);
    for (const { id } of [file, made]) await act.do(me, (writer) => removePage(writer, id));
    for (const { path, text } of files) {
      expect(await act.importFile(me, path, text)).toMatchObject({
        kind: "skipped",
        reason: expect.stringMatching(/was removed here.*stays so/),
      });
      expect(await act.importFile(me, path, `${text}- more\n`)).toMatchObject({
        kind: "skipped",
        reason: expect.stringMatching(/was removed here.*has changed/),
      });
    }
    expect(await countPages(me)).toBe(0);
  });

  test("takes the file's change once it is back, as the import says", async () => {
    const me = await newWorkspace(sql);
    const page = await imported(me, "y.md", "- y\n");
    await act.do(me, (writer) => removePage(writer, page.id));
    const skipped = await act.importFile(me, "y.md", "- y\n- more\n");
    const [, change = ""] = /\(change ([0-9a-f-]{36})\)/.exec(skipped.kind === "skipped" ? skipped.reason : "") ?? [];
    expect(await act.do(me, (writer) => undoCommand(writer, change))).toMatchObject({ kind: "undone" });
    expect(await act.importFile(me, "y.md", "- y\n- more\n")).toMatchObject({ kind: "updated" });
    expect(await act.text(me, page.id)).toBe("- y\n- more\n");
  });

  test("leaves its place to another page, whose file is its own", async () => {
    const me = await newWorkspace(sql);
    const old = await imported(me, "y.md", "- y\n- old\n");
    await act.do(me, (writer) => removePage(writer, old.id));
    const page = await act.page(me, "Y", "- new\n- text\n");
    const [file] = await exported(me);
    expect(await act.importFile(me, "y.md", `${file?.text}- more\n`)).toMatchObject({
      kind: "updated",
      page: { id: page.id },
    });
    expect(await act.importFile(me, "y.md", "- y\n- old\n")).toMatchObject({ kind: "skipped" });
    expect(await act.outline(me, page.id)).toBe("- new\n- text\n- more\n");
  });
});

test("files that say the same, of which one has the other's name with a number, are a page each", async () => {
  const me = await newWorkspace(sql);
  const files = ["n.md", "n-2.md", "n-3.md"].map((path) => ({ path, text: "" }));
  expect(await importAll(me, files)).toEqual({ "n.md": "imported", "n-2.md": "imported", "n-3.md": "imported" });
  expect(await importAll(me, files)).toEqual({ "n.md": "unchanged", "n-2.md": "unchanged", "n-3.md": "unchanged" });
});

test("an older state of a file that was imported is taken, as any change of it", async () => {
  const me = await newWorkspace(sql);
  const page = await imported(me, "p.md", "- a\n");
  await act.importFile(me, "p.md", "- b\n");
  expect(await act.importFile(me, "p.md", "- a\n")).toMatchObject({ kind: "updated" });
  expect(await act.text(me, page.id)).toBe("- a\n");
});
