import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { afterAll, expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { createPage } from "./create-page.ts";
import { exportFolder } from "./export-folder.ts";
import { grepNodes } from "./grep-nodes.ts";
import { importFolder } from "./import-folder.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const scratch = await mkdtemp(join(tmpdir(), "countersign-import-"));
afterAll(() => rm(scratch, { recursive: true }));
let folders = 0;

async function folderWith(files: Record<string, string | Buffer>): Promise<string> {
  const folder = join(scratch, String((folders += 1)));
  await mkdir(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

const bundle = {
  "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md) - all\n',
  "tables/orders.md":
    "---\ntype: Table # one\ntitle: 'It''s: orders'\nx_unknown: {a: 1}\ntags: [a]\n---\n\n# Schema\n\n| a |\n|---|\n\nClaim.[^nowhere]\n\n[^nowhere]: joins nothing\n",
  "pages/term___page.md": "type:: [[Thing]]\n\n\t- tabbed\n\t  id:: 1\n\t\t- deeper",
  "pages/50%25 & more%3F.md": "-\n- x",
  "pages/100% sure.md": "\uFEFF- bom\r\n- crlf\r\n",
  "pages/Broken.md": "---\ntitle: a: b\n---\n- kept\n",
  "pages/empty.md": "",
};

test("KN10: every Markdown file becomes a page and goes back out byte for byte", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith({ ...bundle, "notes.txt": "no page", ".git/x.md": "- no" });
  const result = await importFolder(sql, { ...me, folder });
  expect(result).toMatchObject({ pageCount: 7, skipped: [] });
  const titles = await sql`
    select title, type from pages where workspace_id = ${me.workspaceId} order by title collate "C"`;
  expect(titles).toEqual([
    { title: "100% sure", type: "Page" },
    { title: "50% & more?", type: "Page" },
    { title: "It's: orders", type: "Table" },
    { title: "a: b", type: "Page" },
    { title: "empty", type: "Page" },
    { title: "index", type: "Page" },
    { title: "term/page", type: "Page" },
  ]);
  const out = join(scratch, "out");
  const paths = await exportFolder(sql, { ...me, folder: out });
  expect(paths.toSorted()).toEqual(Object.keys(bundle).toSorted());
  for (const [path, content] of Object.entries(bundle)) {
    expect(await readFile(join(out, path), "utf8"), path).toBe(content);
  }
});

test("importing again changes nothing and says so", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith(bundle);
  await importFolder(sql, { ...me, folder });
  const again = await importFolder(sql, { ...me, folder });
  expect(again).toMatchObject({ pageCount: 7, skipped: [] });
  expect(await sql`select from commands where workspace_id = ${me.workspaceId}`).toHaveLength(7);
});

test("what cannot be stored exactly is named, and the rest is imported", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith({
    "a.md": "- a\n",
    "latin1.md": Buffer.from([0x2d, 0x20, 0xe9, 0x0a]),
    "nul.md": "- a\0b\n",
  });
  await symlink("/etc/hostname", join(folder, "link.md"));
  const { pageCount, skipped } = await importFolder(sql, { ...me, folder });
  expect(pageCount).toBe(1);
  expect(skipped).toEqual([
    { path: "latin1.md", reason: "it is not UTF-8 text" },
    { path: "link.md", reason: "it is a link or no regular file" },
    { path: "nul.md", reason: expect.stringContaining("NUL") },
  ]);
});

test("a file whose name is no text is skipped with its bytes made visible, and the rest is imported", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith({ "a.md": "- a\n", "z/z.md": "- z\n" });
  await writeFile(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9]), Buffer.from(".md")]), "- x\n");
  const result = await importFolder(sql, { ...me, folder });
  expect(result).toMatchObject({ imported: 2, skipped: [{ path: "caf\\xE9.md", reason: "its name is not UTF-8" }] });
});

test("names that differ only in case are two pages, and a page made here takes neither's file", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith({ "Class.md": "- A\n", "class.md": "- a\n", "class-3.md": "- 3\n" });
  await importFolder(sql, { ...me, folder });
  await transaction(sql, (tx) => createPage({ tx, ...me }, { title: "Class!" }));
  const out = join(scratch, "cases");
  await exportFolder(sql, { ...me, folder: out });
  expect((await readdir(out)).length).toBe(4);
  expect(await readFile(join(out, "Class.md"), "utf8")).toBe("- A\n");
  expect(await readFile(join(out, "class.md"), "utf8")).toBe("- a\n");
  expect(await readFile(join(out, "class-3.md"), "utf8")).toBe("- 3\n");
});

test("an imported page that was appended to changes by that bullet alone", async () => {
  const me = await newWorkspace(sql);
  const folder = await folderWith({ "p.md": "# P\n\t- a\n\n\t\t- deep\r\n\nlast" });
  await importFolder(sql, { ...me, folder });
  await transaction(sql, (tx) => appendBullet({ tx, ...me }, { page: "p", text: "new" }));
  const out = join(scratch, "appended");
  await exportFolder(sql, { ...me, folder: out });
  const text = await readFile(join(out, "p.md"), "utf8");
  expect(text).toBe("# P\n\t- a\n\n\t\t- deep\r\n\nlast\n- new\n");
});

test("a page of 2,700 bullets keeps its order, and each bullet is found", async () => {
  const me = await newWorkspace(sql);
  const lines = Array.from({ length: 2_700 }, (_, n) => `${"\t".repeat(n % 3)}- bullet ${n}.`);
  const folder = await folderWith({ "big.md": lines.join("\n") });
  expect(await importFolder(sql, { ...me, folder })).toMatchObject({ nodeCount: 2_700 });
  const out = join(scratch, "big");
  await exportFolder(sql, { ...me, folder: out });
  expect(await readFile(join(out, "big.md"), "utf8")).toBe(lines.join("\n"));
  const found = await transaction(sql, (tx) => grepNodes({ tx, ...me }, { pattern: "bullet 1234." }));
  expect(found).toMatchObject({ kind: "found", total: 1 });
});
