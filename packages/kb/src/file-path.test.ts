import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { directoryKeyOf } from "./directories.ts";
import { exportPages, listExportPaths } from "./export-pages.ts";
import { findPathProblem, withoutPathProblem } from "./file-path.ts";
import { movePage } from "./move-page.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { slugOf } from "./text.ts";

const { sql } = await testDatabase();
const act = actOn(sql);
const bytesOf = (text: string): number => Buffer.byteLength(text);
const longestOf = (path: string): number => Math.max(...path.split("/").map(bytesOf));

test.each(["长".repeat(95), "𝕏𐐨".repeat(60), "a".repeat(200), `${"a".repeat(99)}长`, "é".repeat(150)])(
  "a page called %s has a slug that a file can have as its name, whole characters of it",
  (title) => {
    const slug = slugOf(title);
    expect(bytesOf(slug)).toBeLessThanOrEqual(200);
    expect(slug.isWellFormed() && title.normalize("NFKC").toLowerCase().startsWith(slug)).toBe(true);
    expect(slug.length).toBeGreaterThanOrEqual(Math.min(66, title.length));
  },
);

test("a file whose path has a part of more than 255 bytes is skipped with the reason, and no other is", async () => {
  const me = await newWorkspace(sql);
  const longest = `${"长".repeat(84)}.md`;
  expect(await act.importFile(me, longest, "- x\n")).toMatchObject({ kind: "imported" });
  expect(await act.importFile(me, `${"ﷺ/".repeat(290)}a.md`, "- x\n")).toMatchObject({ kind: "imported" });
  for (const path of [`${"长".repeat(85)}.md`, `${"d".repeat(256)}/a.md`, `${"a".repeat(300)}.md`]) {
    const result = await act.importFile(me, path, "- x\n");
    expect(result, path).toMatchObject({ kind: "skipped", reason: expect.stringContaining("at most 255") });
  }
});

test("an overlong name that stands on a page all the same is written shorter, with its ending", () => {
  for (const path of [
    `${"长".repeat(95)}.md`,
    `${"长".repeat(95)}/a.md`,
    `.${"长".repeat(85)}/a.md`,
    "a".repeat(300),
  ]) {
    const written = withoutPathProblem(path);
    expect(longestOf(written)).toBeLessThanOrEqual(255);
    expect(findPathProblem(written)).toBeUndefined();
    expect(written.endsWith(".md")).toBe(path.endsWith(".md"));
  }
});

test("a directory whose name no folder can have is refused to a new page and a move", async () => {
  const me = await newWorkspace(sql);
  const dir = `fine/${"长".repeat(95)}`;
  const made = await act.edit(me, { page: "New", okf: "- x\n", dir });
  expect(made).toMatchObject({ kind: "refused", reason: expect.stringContaining("285 bytes; at most 200") });
  const page = await act.page(me, "Moved", "- x\n");
  const moved = await act.do(me, (writer) => movePage(writer, { pageId: page.id, dir }));
  expect(moved).toMatchObject({ kind: "refused", reason: expect.stringContaining("285 bytes") });
});

test("directories with a long name in common stay two to the rules", () => {
  const [one, two] = [`${"长".repeat(80)}一`, `${"长".repeat(80)}二`];
  expect(directoryKeyOf(one)).not.toBe(directoryKeyOf(two));
});

test("a path that is a file's and a folder's at once is written as two, none of them lost", async () => {
  const me = await newWorkspace(sql);
  await act.importFile(me, "a.md", "- file\n");
  await act.importFile(me, "a.md/b.md/c.md", "- below\n");
  await act.importFile(me, "a.md/b.md", "- between\n");
  const files = await act.do(me, async (reader) => exportPages(reader, await listExportPaths(reader, {})));
  expect(new Map(files.map(({ path, text }) => [path, text]))).toEqual(
    new Map([
      ["a-2.md", "- file\n"],
      ["a.md/b-2.md", "- between\n"],
      ["a.md/b.md/c.md", "- below\n"],
    ]),
  );
});
