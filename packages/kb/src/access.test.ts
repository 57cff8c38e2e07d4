import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deleteAccessRule, listAccessRules, setAccessRule } from "./access-rules.ts";
import { appendBullet } from "./append-bullet.ts";
import { createPage } from "./create-page.ts";
import { editNode } from "./edit-node.ts";
import { expandDirectory } from "./expand-directory.ts";
import { exportFolder } from "./export-folder.ts";
import { findNode } from "./find-node.ts";
import { grepNodes } from "./grep-nodes.ts";
import { listHistory, readCommand } from "./list-history.ts";
import { lookupPage } from "./lookup.ts";
import { movePage } from "./move-page.ts";
import { readCorpus } from "./read-corpus.ts";
import { listReached, viewPage } from "./read-linked.ts";
import { removeNode, removePage } from "./remove-node.ts";
import { manyVisibleNodes, visibleNodes } from "./scope.ts";
import { searchPages } from "./search-pages.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newUser, newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

/** A directory that only its owner may read, with pages that link out of it and are linked to from outside. */
async function closedDirectory() {
  const owner = await newWorkspace(sql);
  const stranger: Person = { workspaceId: owner.workspaceId, userId: await newUser(sql, owner.workspaceId) };
  const secret = await act.page(owner, "Xanadu", "- xanadu holds gold\n- see [[Public]]\n", "vault/inner");
  const open = await act.page(owner, "Public", "- open, see [[Xanadu]]\n");
  await act.do(owner, (writer) => setAccessRule(writer, { dir: "vault", pageId: null, userId: null, level: "none" }));
  await act.do(owner, (writer) =>
    setAccessRule(writer, { dir: "vault", pageId: null, userId: owner.userId, level: "write" }),
  );
  const [node = ""] = await act.ids(owner, secret.id);
  const [command] = await sql<{ id: string }[]>`select id from commands where page_id = ${secret.id}`;
  return { owner, stranger, secret, open, node, command: command?.id ?? "" };
}

test("who may not read a directory finds nothing of it, in any way, while others do", async () => {
  const { owner, stranger, secret, open, node, command } = await closedDirectory();
  const missing = "00000000-0000-4000-8000-000000000000";
  const folder = await mkdtemp(join(tmpdir(), "countersign-access-"));
  const lookAround = (by: Person, pageId: string, nodeId: string, commandId: string) =>
    act.do(by, async (writer) => [
      await lookupPage(writer, pageId),
      await viewPage(writer, pageId),
      await findNode(writer, nodeId),
      await editNode(writer, { nodeId, okf: "- x" }),
      await removeNode(writer, nodeId),
      await removePage(writer, pageId),
      await movePage(writer, { pageId, title: "Mine" }),
      await appendBullet(writer, { page: pageId, text: "x" }),
      await readCommand(writer, commandId),
      await undoCommand(writer, commandId),
      await listHistory(writer, { pageId, limit: 10 }),
    ]);
  const everywhere = (by: Person) =>
    act.do(by, async (writer) => [
      await lookupPage(writer, "Xanad"),
      await searchPages(writer, { q: "xanadu gold" }),
      await searchPages(writer, { q: "Xanad" }),
      await grepNodes(writer, { pattern: "gold" }),
      await grepNodes(writer, { pattern: "g.ld", regex: true }),
      await expandDirectory(writer, ""),
      await expandDirectory(writer, "vault"),
      await expandDirectory(writer, "vault/inner"),
      (await readCorpus(writer, 10_000)).text.replaceAll("[[Xanadu]]", ""),
      await listReached(writer, open.id, 2, 10),
      (await viewPage(writer, open.id))?.backlinks,
      await listHistory(writer, { limit: 100 }),
    ]);
  try {
    // To a stranger what is closed is as what never was.
    const closed = JSON.stringify(await lookAround(stranger, secret.id, node, command));
    const never = JSON.stringify(await lookAround(stranger, missing, missing, missing));
    expect(closed).toBe(never);
    const seen = JSON.stringify(await everywhere(stranger));
    expect(seen).not.toMatch(/gold|vault|inner/);
    expect(seen).not.toContain(secret.id);
    expect(seen).not.toMatch(/"(?:title|pageTitle)":"Xanadu"/);
    expect(JSON.stringify(await everywhere(owner)).match(/gold|vault/g)?.length).toBeGreaterThan(5);
    await exportFolder(sql, { ...stranger, folder });
    expect(await readdir(folder, { recursive: true })).toEqual(["public.md"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a name that a closed page bears is free to others, and their links go to their own page", async () => {
  const { owner, stranger, secret } = await closedDirectory();
  const created = await act.do(stranger, (writer) => createPage(writer, { title: "Xanadu" }));
  if (created.kind !== "created") throw new Error(created.kind);
  const linking = await act.page(stranger, "Linking", "- to [[Xanadu]]\n");
  const reached = (by: Person) => act.do(by, (reader) => listReached(reader, linking.id, 1, 10));
  expect(await reached(stranger)).toMatchObject([{ id: created.page.id, title: "Xanadu" }]);
  expect((await act.do(owner, (reader) => listReached(reader, linking.id, 1, 10))).map(({ id }) => id)).not.toContain(
    secret.id,
  );
  // The link of the public page was resolved when it was written, by somebody who saw the closed page.
  const [open] = await sql<{ id: string }[]>`
    select id from pages where workspace_id = ${owner.workspaceId} and title = 'Public'`;
  const of = (by: Person) => act.do(by, (reader) => listReached(reader, open?.id ?? "", 1, 10));
  expect((await of(stranger)).map(({ id }) => id)).toEqual([created.page.id]);
  expect((await of(owner)).map(({ id }) => id)).toEqual([secret.id]);
});

test("a closed page that is renamed does not tell its new name in the pages of others", async () => {
  const { owner, secret, open, stranger } = await closedDirectory();
  const moved = await act.do(owner, (writer) => movePage(writer, { pageId: secret.id, title: "Shangri-La" }));
  expect(moved).toMatchObject({ kind: "moved", renamedLinks: 0 });
  expect(await act.outline(stranger, open.id)).toContain("[[Xanadu]]");
  expect((await act.do(owner, (reader) => listReached(reader, open.id, 1, 10)))[0]).toMatchObject({ id: secret.id });
});

describe("rules", () => {
  test("of a page come before those of its directory, and a person's before everybody's", async () => {
    const { owner, stranger, secret } = await closedDirectory();
    const sees = async () => (await act.do(stranger, (reader) => lookupPage(reader, secret.id))).kind === "found";
    const set = (userId: string | null, level: "none" | "read" | "write") =>
      act.do(owner, (writer) => setAccessRule(writer, { dir: null, pageId: secret.id, userId, level }));
    expect(await sees()).toBe(false);
    await set(null, "read");
    expect(await sees()).toBe(true);
    await set(stranger.userId, "none");
    expect(await sees()).toBe(false);
    await set(stranger.userId, "write");
    expect(await sees()).toBe(true);
    const rules = await act.do(owner, listAccessRules);
    expect(rules).toHaveLength(4);
    for (const rule of rules) {
      expect(await act.do(owner, (writer) => deleteAccessRule(writer, rule.id))).toEqual(rule);
      expect(await act.do(owner, (writer) => deleteAccessRule(writer, rule.id))).toBeUndefined();
    }
    expect(await sees()).toBe(true);
  });

  test("that let a person read only leave every change refused, and every reading possible", async () => {
    const { owner, stranger, secret, node } = await closedDirectory();
    await act.do(owner, (writer) =>
      setAccessRule(writer, { dir: "vault/inner", pageId: null, userId: stranger.userId, level: "read" }),
    );
    expect(await act.outline(stranger, secret.id)).toContain("gold");
    expect(await act.edit(stranger, { page: secret.id, okf: "- mine\n" })).toMatchObject({ kind: "forbidden" });
    expect(await act.do(stranger, (writer) => appendBullet(writer, { page: "Xanadu", text: "x" }))).toMatchObject({
      kind: "forbidden",
    });
    expect(await act.do(stranger, (writer) => removeNode(writer, node))).toEqual({ kind: "forbidden" });
    expect(await act.do(stranger, (writer) => removePage(writer, secret.id))).toEqual({ kind: "forbidden" });
    expect(await act.do(stranger, (writer) => createPage(writer, { title: "Mine", dir: "vault/inner" }))).toMatchObject(
      { kind: "refused" },
    );
    expect(await act.importFile(stranger, "vault/inner/x.md", "- x\n")).toMatchObject({ kind: "skipped" });
    expect(await act.do(stranger, (writer) => movePage(writer, { pageId: secret.id, dir: "" }))).toEqual({
      kind: "forbidden",
    });
  });

  test("for a directory do not hold for one whose name only begins alike", async () => {
    const { owner, stranger } = await closedDirectory();
    const near = await act.page(owner, "Near", "- a\n", "vault-2");
    expect(await act.do(stranger, (reader) => lookupPage(reader, near.id))).toMatchObject({ kind: "found" });
  });
});

test("a query over many nodes shows exactly what one over few does, whatever the rules", async () => {
  const owner = await newWorkspace(sql);
  const others = [owner.userId, await newUser(sql, owner.workspaceId)];
  const dirs = ["", "a", "a/b", "a/b/c", "ab", "d"];
  const pages: string[] = [];
  for (const [n, dir] of [...dirs, ...dirs].entries())
    pages.push((await act.page(owner, `page ${n}`, "- x\n", dir)).id);
  await act.do(owner, (writer) => removePage(writer, pages[3] ?? ""));
  const rule = fc.record({
    place: fc.nat(dirs.length + pages.length - 1),
    who: fc.constantFrom(null, ...others),
    level: fc.constantFrom("none" as const, "read" as const, "write" as const),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(rule, { maxLength: 6 }), async (rules) => {
      await sql`delete from access_rules where workspace_id = ${owner.workspaceId}`;
      for (const { place, who, level } of rules) {
        const where = { dir: dirs[place] ?? null, pageId: pages[place - dirs.length] ?? null };
        await act.do(owner, (writer) => setAccessRule(writer, { ...where, userId: who, level }));
      }
      for (const userId of others) {
        const [few, many] = await act.do({ ...owner, userId }, async (reader) => [
          await reader.tx`select id from ${visibleNodes(reader)} n order by id`,
          await reader.tx`select id from ${manyVisibleNodes(reader)} n order by id`,
        ]);
        expect(many).toEqual(few);
      }
    }),
    { numRuns: 60 },
  );
});
