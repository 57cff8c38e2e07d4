import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listAccessRules, setAccessRule } from "./access-rules.ts";
import { createPage } from "./create-page.ts";
import { directoryKeyOf } from "./directories.ts";
import { expandDirectory } from "./expand-directory.ts";
import { exportFolder } from "./export-folder.ts";
import { findPathProblem, withoutPathProblem } from "./file-path.ts";
import { listHistory, readCommand } from "./list-history.ts";
import { listPages } from "./list-pages.ts";
import { lookupPage } from "./lookup.ts";
import { movePage } from "./move-page.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newUser, newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

/** Two people, and a directory that only the first may see, by rules for this spelling. */
async function closed(dir: string) {
  const owner: Person = await newWorkspace(sql);
  const stranger: Person = { workspaceId: owner.workspaceId, userId: await newUser(sql, owner.workspaceId) };
  const set = (userId: string | null, level: "none" | "read" | "write") =>
    act.do(owner, (writer) => setAccessRule(writer, { dir, pageId: null, userId, level }));
  await set(null, "none");
  await set(owner.userId, "write");
  const sees = async (pageId: string) =>
    (await act.do(stranger, (reader) => lookupPage(reader, pageId))).kind === "found";
  return { owner, stranger, set, sees };
}

test("the key of a directory's key is that key", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 130 }), (dir) => {
      expect(directoryKeyOf(directoryKeyOf(dir))).toBe(directoryKeyOf(dir));
    }),
    { numRuns: 2_000, examples: [[`${"a".repeat(99)} b`], ["İ/ﬁ"], ["___/***"]] },
  );
});

test("a directory whose letters stand for very many is refused, and a rule for it is kept", async () => {
  const owner: Person = await newWorkspace(sql);
  const dir = "ﷺ/".repeat(150);
  const made = await act.do(owner, (writer) => createPage(writer, { title: "A", dir }));
  expect(made).toMatchObject({ kind: "refused" });
  expect(await act.importFile(owner, `${dir}a.md`, "- a\n")).toMatchObject({ kind: "imported" });
  await act.do(owner, (writer) => setAccessRule(writer, { dir, pageId: null, userId: null, level: "none" }));
});

test("who makes pages in one directory does not wait for another who does", async () => {
  const owner: Person = await newWorkspace(sql);
  await act.do(owner, (writer) => createPage(writer, { title: "There before", dir: "shared" }));
  await act.do(owner, async (first) => {
    expect(await createPage(first, { title: "First", dir: "shared" })).toMatchObject({ kind: "created" });
    const second = await act.do(owner, async (writer) => {
      await writer.tx`set local lock_timeout = '2s'`;
      return await createPage(writer, { title: "Second", dir: "shared" });
    });
    expect(second).toMatchObject({ kind: "created" });
  });
});

describe("a directory that is written in several ways", () => {
  test("is closed in each of them, by one rule, whether it was there before the rule or not", async () => {
    const { owner, stranger, sees } = await closed("team-papers");
    for (const path of ["Team Papers/a.md", "team_papers/Deep/b.md", "TEAM-PAPERS/c.md", "team papers /d.md"]) {
      expect(await act.importFile(stranger, path, "- theirs\n")).toMatchObject({ kind: "skipped" });
      const imported = await act.importFile(owner, path, "- ours\n");
      if (imported.kind !== "imported") throw new Error(JSON.stringify(imported));
      expect(await sees(imported.page.id)).toBe(false);
    }
    const made = await act.page(owner, "Made", "- ours\n", "Team  papers");
    expect(await sees(made.id)).toBe(false);
    const moved = await act.page(owner, "Moved", "- ours\n");
    await act.do(owner, (writer) => movePage(writer, { pageId: moved.id, dir: "TEAM papers" }));
    expect(await sees(moved.id)).toBe(false);
  });

  test("is not opened by an import under another spelling", async () => {
    const { owner, stranger, sees } = await closed("payroll");
    const before = await act.page(owner, "Pay 2026", "- salaries\n", "payroll");
    expect(await act.importFile(stranger, "Payroll/x.md", "- nothing\n")).toMatchObject({ kind: "skipped" });
    expect(await act.importFile(owner, "Payroll/x.md", "- nothing\n")).toMatchObject({ kind: "imported" });
    const after = await act.page(owner, "Pay 2027", "- salaries\n", "payroll");
    expect(after.dir).toBe(before.dir);
    expect(await sees(after.id)).toBe(false);
    expect(await act.do(stranger, (writer) => createPage(writer, { title: "Mine", dir: "PAYROLL" }))).toMatchObject({
      kind: "refused",
    });
  });

  test("has one rule for a person, which a later one for another spelling replaces", async () => {
    const { owner, set } = await closed("Vault");
    await act.do(owner, (writer) => setAccessRule(writer, { dir: "vault", pageId: null, userId: null, level: "read" }));
    await set(owner.userId, "write");
    const rules = await act.do(owner, listAccessRules);
    expect(rules.map(({ dir, userId, level }) => [dir, userId, level])).toEqual([
      ["Vault", null, "read"],
      ["Vault", owner.userId, "write"],
    ]);
  });

  test("is one in lists, and its files keep the paths that they came from", async () => {
    const owner: Person = await newWorkspace(sql);
    const paths = ["Notes/In/a.md", "notes/in/a.md", "notes/in/b.md"];
    for (const path of paths) await act.importFile(owner, path, `- ${path}\n`);
    const [top, level, pages] = await act.do(owner, async (reader) => [
      await expandDirectory(reader, ""),
      await expandDirectory(reader, "NOTES"),
      await listPages(reader, { dir: "Notes/in", limit: 10 }),
    ]);
    expect(top?.dirs).toEqual([{ dir: "notes", pageCount: 3 }]);
    expect(level?.dirs).toEqual([{ dir: "notes/in", pageCount: 3 }]);
    expect(pages).toHaveLength(3);
    const folder = await mkdtemp(join(tmpdir(), "countersign-spelling-"));
    try {
      expect((await exportFolder(sql, { ...owner, folder, dir: "NOTES" })).toSorted()).toEqual(paths);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test("all directories at once are closed as each by itself is, whatever the rules", async () => {
  const { workspaceId, userId }: Person = await newWorkspace(sql);
  const stranger = await newUser(sql, workspaceId);
  const dirs = ["", "a", "A", "a/B", "A/b/c", "a-b", "a b", "d"];
  for (const dir of dirs) {
    await sql`insert into directories (workspace_id, dir, key) values (${workspaceId}, ${dir}, ${directoryKeyOf(dir)})`;
  }
  // Written as rows, since two rules for spellings of one directory come of what was there before.
  const rule = fc.record({
    dir: fc.constantFrom(...dirs),
    who: fc.constantFrom(null, stranger),
    level: fc.constantFrom("none", "read", "write"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(rule, { maxLength: 6 }), async (rules) => {
      await sql`delete from access_rules where workspace_id = ${workspaceId}`;
      for (const { dir, who, level } of rules) {
        await sql`
          insert into access_rules (id, workspace_id, dir, user_id, level, created_by)
          values (gen_random_uuid(), ${workspaceId}, ${dir}, ${who}, ${level}, ${userId}) on conflict do nothing`;
      }
      const [wrong] = await sql<{ read: string[]; write: string[] }[]>`
        select array(select dir from directories where workspace_id = ${workspaceId}
                        and (directory_level(${workspaceId}::uuid, ${stranger}::uuid, key) = 'none')
                            <> (dir in (select closed_directories(${workspaceId}::uuid, ${stranger}::uuid, 'read')))) as read,
               array(select dir from directories where workspace_id = ${workspaceId}
                        and (directory_level(${workspaceId}::uuid, ${stranger}::uuid, key) <> 'write')
                            <> (dir in (select closed_directories(${workspaceId}::uuid, ${stranger}::uuid, 'write')))) as write`;
      expect(wrong).toEqual({ read: [], write: [] });
    }),
    { numRuns: 60 },
  );
});

test("a move out of a directory is not taken back by who may not write there, and does not tell its name", async () => {
  const { owner, stranger, sees } = await closed("secret-plans");
  const page = await act.page(owner, "Mover", "- moving\n", "secret-plans");
  await act.do(owner, (writer) => movePage(writer, { pageId: page.id, dir: "open" }));
  expect(await sees(page.id)).toBe(true);
  const history = await act.do(stranger, (reader) => listHistory(reader, { pageId: page.id, limit: 10 }));
  const told = await act.do(stranger, (reader) => Promise.all(history.map(({ id }) => readCommand(reader, id))));
  expect(JSON.stringify(told)).not.toContain("secret");
  const moved = history.find(({ kind }) => kind === "page.moved")?.id ?? "";
  const undone = await act.do(stranger, (writer) => undoCommand(writer, moved));
  expect(undone).toMatchObject({ kind: "conflict", page: { dir: "open" } });
  expect(JSON.stringify(undone)).not.toContain("secret");
  expect(await act.do(owner, (writer) => undoCommand(writer, moved))).toMatchObject({
    kind: "undone",
    page: { dir: "secret-plans" },
  });
});

test("a slug tells of no page that one may not see", async () => {
  const { owner, stranger } = await closed("elsewhere");
  const hidden = await act.page(owner, "Quux", "- q\n", "open");
  await act.do(owner, (writer) =>
    setAccessRule(writer, { dir: null, pageId: hidden.id, userId: stranger.userId, level: "none" }),
  );
  const mine = await act.do(stranger, (writer) => createPage(writer, { title: "Quux", dir: "open" }));
  expect(mine).toMatchObject({ kind: "created", page: { slug: "quux" } });
  const other = await act.page(stranger, "Quux 2", "- q\n");
  const renamed = await act.do(stranger, (writer) => movePage(writer, { pageId: other.id, dir: "open" }));
  expect(renamed).toMatchObject({ kind: "moved", page: { slug: "quux-2" } });
});

describe("the path of a file", () => {
  const bad = [".git/config", "a/.git/hooks/x.md", ".GIT/x.md", "\u200c.git/x.md", "git~1/x.md", "../x.md", "a/ /x.md"];

  test.each([...bad, "a\\..\\x.md", "a//x.md", ".hidden.md"])("%j is not imported", async (path) => {
    const owner: Person = await newWorkspace(sql);
    expect(await act.importFile(owner, path, "- x\n")).toMatchObject({ kind: "skipped" });
    expect(findPathProblem(withoutPathProblem(path))).toBeUndefined();
  });

  test("that stands on a page all the same is written under another name", async () => {
    const owner: Person = await newWorkspace(sql);
    const imported = await act.importFile(owner, "a/x.md", "- x\n");
    if (imported.kind !== "imported") throw new Error(imported.kind);
    await sql`insert into directories (workspace_id, dir, key) values (${owner.workspaceId}, '.git/hooks', 'git/hooks')`;
    await sql`update pages set dir = '.git/hooks' where id = ${imported.page.id}`;
    const folder = await mkdtemp(join(tmpdir(), "countersign-path-"));
    try {
      expect(await exportFolder(sql, { ...owner, folder })).toEqual(["_.git/hooks/x.md"]);
      expect(await readdir(folder)).toEqual(["_.git"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
