import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { listExportPaths } from "./export-pages.ts";
import { lookupPage } from "./lookup.ts";
import { movePage } from "./move-page.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

async function imported(me: Person, path: string, source: string) {
  const result = await act.importFile(me, path, source);
  if (result.kind !== "imported") throw new Error(JSON.stringify(result));
  return result.page;
}

test("KN09: frontmatter is frontmatter also in a file whose lines end in several ways, which comes back to the byte", async () => {
  const me = await newWorkspace(sql);
  const head = "---\r\ntype: Note\r\ntitle: Mixed\r\ntags: [a]\r\n---\r\n";
  for (const [n, source] of [`${head}- a\n- b\r\n`, `${head.replace("\r\n", "\n")}\r\n- a\r\n`].entries()) {
    const made = await act.importFile(me, `${n}.md`, source);
    if (made.kind !== "imported") throw new Error(made.kind);
    expect(made.page).toMatchObject({ title: "Mixed", type: "Note" });
    expect(await act.text(me, made.page.id)).toBe(source);
    const renamed = await act.do(me, (writer) => movePage(writer, { pageId: made.page.id, title: `Other ${n}` }));
    expect(renamed.kind).toBe("moved");
    expect(await act.text(me, made.page.id)).toBe(source.replace("Mixed", `"Other ${n}"`));
    expect(await act.importFile({ ...me, isPerson: false }, `by-a-program-${n}.md`, source)).toMatchObject({
      kind: "imported",
    });
  }
});

test("a file that changed is merged into its page, on what it was when it was imported", async () => {
  const me = await newWorkspace(sql);
  const page = await imported(me, "p.md", "- a\n- b\n- c\n");
  const ids = await act.ids(me, page.id);
  await act.do(me, (writer) => appendBullet(writer, { page: page.id, text: "here" }));
  expect(await act.importFile(me, "p.md", "- a\n- B\n- c\n")).toMatchObject({ kind: "updated" });
  expect(await act.text(me, page.id)).toBe("- a\n- B\n- c\n- here\n");
  expect((await act.ids(me, page.id)).slice(0, 3)).toEqual(ids);

  // The same file again must not take away what was written here.
  expect(await act.importFile(me, "p.md", "- a\n- B\n- c\n")).toMatchObject({ kind: "unchanged" });
  expect(await act.text(me, page.id)).toBe("- a\n- B\n- c\n- here\n");
  expect(await act.importFile(me, "p.md", "- a\n- B\n- c\n- there\n")).toMatchObject({ kind: "updated" });
  expect(await act.text(me, page.id)).toBe("- a\n- B\n- c\n- here\n- there\n");
});

test("a file and a page that changed in the same place are a conflict, and the page is as it was", async () => {
  const me = await newWorkspace(sql);
  const page = await imported(me, "p.md", "- a\n- b\n");
  await act.edit(me, { page: page.id, okf: "- A\n- b\n" });
  expect(await act.importFile(me, "p.md", "- other\n- b\n")).toMatchObject({ kind: "conflict" });
  expect(await act.text(me, page.id)).toBe("- A\n- b\n");
});

test("what was exported and is imported again changes nothing, whatever was changed here", async () => {
  const me = await newWorkspace(sql);
  const page = await imported(me, "p.md", "- a\n\n# H\n\ntext");
  await act.edit(me, { page: page.id, okf: "- a\n  - new\n\n# H\n\nother text" });
  const text = await act.text(me, page.id);
  expect(await act.importFile(me, "p.md", text)).toMatchObject({ kind: "unchanged" });
  expect(await act.text(me, page.id)).toBe(text);
});

test("frontmatter that YAML refuses is kept to the byte, read as far as it goes, and reported", async () => {
  const me = await newWorkspace(sql);
  const source = "---\ntitle: Orders: all of them\ntype: Table\nx: [1,\n---\n\n- a\n";
  const result = await act.importFile(me, "o.md", source);
  expect(result).toMatchObject({
    kind: "imported",
    page: { title: "Orders: all of them", type: "Table" },
    warnings: [expect.stringContaining("no YAML")],
  });
  expect(result.kind === "imported" && (await act.text(me, result.page.id))).toBe(source);
});

test("frontmatter gives title, type, labels and aliases; a page is found by any of its names", async () => {
  const me = await newWorkspace(sql);
  const head = "---\ntype: Metric\ntitle: 'It''s'\naliases: [Other Name, \"Third\"]\ntags:\n  - x\n  - y\n---\n";
  const page = await imported(me, "m.md", `${head}- a\n`);
  expect(page).toMatchObject({ title: "It's", type: "Metric" });
  for (const name of ["it's", "other name", "THIRD"]) {
    expect(await act.do(me, (reader) => lookupPage(reader, name)), name).toMatchObject({
      kind: "found",
      page: { id: page.id },
    });
  }
  expect(await sql`select labels from pages where id = ${page.id}`).toEqual([{ labels: ["x", "y"] }]);
});

test("frontmatter whose aliases multiply without end is kept, and nothing hangs", async () => {
  const me = await newWorkspace(sql);
  const bomb = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ...Array.from(
      "bcdefghi",
      (c, n) => `${c}: &${c} [${Array.from({ length: 9 }, () => `*${"abcdefghi"[n]}`).join(",")}]`,
    ),
  ];
  const source = `---\n${bomb.join("\n")}\n---\n- a\n`;
  const page = await imported(me, "bomb.md", source);
  expect(await act.text(me, page.id)).toBe(source);
});

test("a file whose name does not end in .md is not imported, and says why", async () => {
  const me = await newWorkspace(sql);
  for (const path of ["d/noext", "x.txt", "y.md.bak", "z.markdown"]) {
    expect(await act.importFile(me, path, "- a\n"), path).toMatchObject({
      kind: "skipped",
      reason: expect.stringContaining(".md"),
    });
  }
  expect(await act.importFile(me, "README.MD", "- a\n")).toMatchObject({ kind: "imported" });
});

test("pages of one path have each a path of its own when they are written, whatever the name, and however many they are", async () => {
  const me = await newWorkspace(sql);
  const names = ["noext", "noext", "noext", "x.md", "x.md", "x-2.md", ".md", ".md", "a.b", "a.b"];
  for (const [n, name] of names.entries()) {
    const page = await imported(me, `d/${n}.md`, `- ${n}\n`);
    await sql`update pages set file_name = ${name} where id = ${page.id}`;
  }
  await sql`
    insert into pages (id, workspace_id, dir, title, slug, type, frontmatter, line_end, revision)
    select gen_random_uuid(), ${me.workspaceId}, 'd', 'Many', 'many', 'Page', '', chr(10), 1 from generate_series(1, 5000)`;
  const paths = (await act.do(me, (reader) => listExportPaths(reader, {}))).map(({ path }) => path);
  expect(new Set(paths).size).toBe(5_000 + names.length);
  expect(paths.filter((path) => !path.endsWith(".md"))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining(["d/noext.md", "d/noext-2.md", "d/a.b.md", "d/x.md", "d/many.md", "d/many-5000.md"]),
  );
});
