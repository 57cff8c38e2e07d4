import type { Tx } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { applyOkf } from "./apply-okf.ts";
import { diffPage } from "./diff-page.ts";
import { editNode } from "./edit-node.ts";
import { nodeIn } from "./find-node.ts";
import { loadPage, type LoadedPage } from "./load-page.ts";
import { parseFragment, writeFragment } from "./node-fragment.ts";
import type { TreeNode } from "./page-tree.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { oddText, usualText } from "./testing/pages.ts";
import { undoCommand } from "./undo-command.ts";
import { writeOutline } from "./write-outline.ts";

const { sql } = await testDatabase();
const act = actOn(sql);
const bulletCount = 2_000;

/** What an act costs, apart from finding and locking the page: its statements, and the nodes it reads and writes. */
async function costOf(me: Person, body: (writer: Writer) => Promise<unknown>) {
  return await act.do(me, async (writer) => {
    let statements = 0;
    const tx = new Proxy(writer.tx, {
      apply(target, self, args) {
        const made: unknown = Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
        // What is a part of a statement is never awaited.
        return made instanceof Promise ? whenAwaited(made, () => (statements += 1)) : made;
      },
    });
    // Postgres counts on from the transactions before it in the same session.
    const before = await countRows(writer.tx);
    await body({ ...writer, tx });
    const after = await countRows(writer.tx);
    return { statements, read: after.read - before.read, written: after.written - before.written };
  });
}

function whenAwaited<T extends object>(query: T, tell: () => void): T {
  return new Proxy(query, {
    get(target, name) {
      if (name === "then") tell();
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

async function countRows(tx: Tx): Promise<{ read: number; written: number }> {
  const [nodes] = await tx<{ read: number; written: number }[]>`
    select seq_tup_read + coalesce(idx_tup_fetch, 0) as read, n_tup_ins + n_tup_upd + n_tup_del as written
      from pg_stat_xact_user_tables where relname = 'nodes' and schemaname = current_schema()`;
  return nodes ?? { read: 0, written: 0 };
}

async function longPage() {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "Long", "- bullet of a long page\n  - below\n".repeat(bulletCount / 2));
  await sql`analyze nodes`;
  await sql`analyze pages`;
  return { me, page, ids: await act.ids(me, page.id) };
}

describe("of a page of 2,000 bullets", () => {
  test("one is appended with what is around the end, whether below a bullet or last of all", async () => {
    const { me, page, ids } = await longPage();
    const last = await costOf(me, (writer) => appendBullet(writer, { page: page.id, text: "last" }));
    expect(last.read).toBeLessThan(20);
    expect(last).toMatchObject({ statements: 7, written: 1 });
    const below = await costOf(me, (writer) =>
      appendBullet(writer, { page: page.id, text: "below", parent: ids[1_000] }),
    );
    expect(below.read).toBeLessThan(20);
    expect(below).toMatchObject({ statements: 7, written: 1 });
    const outline = await act.outline(me, page.id);
    expect(outline.endsWith("  - below\n- last\n")).toBe(true);
    expect(outline.split("\n")[1_002]).toBe("  - below");
  });

  test("one is changed with what is around it, though others changed other bullets meanwhile", async () => {
    const { me, page, ids } = await longPage();
    const [mine = "", others = ""] = [ids[1_000], ids[400]];
    await act.do(me, (writer) => editNode(writer, { nodeId: others, okf: "- theirs\n  - below\n" }));
    for (const revision of [page.revision, page.revision + 2]) {
      const okf = `- mine ${revision}\n  - below\n`;
      const cost = await costOf(me, async (writer) => {
        expect(await editNode(writer, { nodeId: mine, okf, revision })).toMatchObject({
          kind: "applied",
          isMerged: revision === page.revision,
          changed: 1,
        });
      });
      expect(cost.read).toBeLessThan(20);
      expect(cost.written).toBe(1);
      expect(cost.statements).toBeLessThan(10);
    }
    const lines = (await act.outline(me, page.id)).split("\n");
    expect([lines[400], lines[1_000]]).toEqual(["- theirs", `- mine ${page.revision + 2}`]);
  });

  test("the whole is read once where it is sent whole, and one row is written where one bullet changed", async () => {
    const { me, page } = await longPage();
    const text = await act.text(me, page.id, true);
    const okf = text.replace("- bullet of a long page", "- another bullet");
    const cost = await costOf(me, (writer) => applyOkf(writer, { page: page.id, okf, revision: page.revision }));
    const [nodes] = await sql<{ count: number }[]>`select count(*) from nodes`;
    expect(cost.read).toBeLessThan((nodes?.count ?? 0) + 20);
    expect(cost).toMatchObject({ written: 1, statements: 7 });
  });

  test("an appended bullet is in the history, is taken back and comes again", async () => {
    const { me, page } = await longPage();
    const before = await act.text(me, page.id, true);
    const added = await act.do(me, (writer) => appendBullet(writer, { page: "Long", text: "see [[Elsewhere]]" }));
    if (added.kind !== "appended") throw new Error(added.kind);
    expect(added.page.revision).toBe(page.revision + 1);
    const after = await act.text(me, page.id, true);
    const [command] = await sql<{ id: string; kind: string }[]>`
      select id, kind from commands where page_id = ${page.id} and revision = ${added.page.revision}`;
    expect(command?.kind).toBe("bullet.appended");
    expect(await sql`select target from links where node_id = ${added.nodeId}`).toMatchObject([
      { target: "elsewhere" },
    ]);
    const undone = await act.do(me, (writer) => undoCommand(writer, command?.id ?? ""));
    expect(await act.text(me, page.id, true)).toBe(before);
    if (undone.kind !== "undone") throw new Error(undone.kind);
    await act.do(me, (writer) => undoCommand(writer, undone.commandId));
    expect(await act.text(me, page.id, true)).toBe(after);
  });
});

describe("a change of one place", () => {
  const text = fc.oneof(usualText, oddText);
  const fragment = fc.oneof(
    fc.constantFrom("- a", "- a\n  - b\n", "* a\n\n  c\n", "- ```\n  code", "# h\n", "- \n", "- a\n\n\t- b\n\t\t- c\n"),
    usualText.filter((okf) => /^- [^\n]*\n(?:\t[^\n]*\n)*$/.test(okf)),
  );

  test("makes of any page what a change of the whole page makes of it", async () => {
    const me = await newWorkspace(sql);
    let n = 0;
    await fc.assert(
      fc.asyncProperty(text, fragment, fc.nat(), fc.boolean(), async (source, okf, at, isOwn) => {
        n += 1;
        await act.importFile(me, `page-${n}.md`, `---\ntitle: page ${n}\n---\n\n${source}`);
        const [row] = await sql<{ id: string }[]>`
            select id from pages where workspace_id = ${me.workspaceId} and title = ${`page ${n}`}`;
        if (row === undefined) return;
        for (const round of [0, 1, 2]) {
          const before = await load(me, row.id);
          const node = before.nodes[(at + round) % before.nodes.length];
          if (node === undefined || round === 2) await expectAppended(me, before, node);
          else await expectEdited(me, before, node.id, isOwn ? withFirstLine(before, node.id) : okf);
        }
      }),
      { numRuns: 60 },
    );
  });
});

async function load(me: Person, pageId: string): Promise<LoadedPage> {
  const page = await act.do(me, (writer) => loadPage(writer, pageId));
  if (page === undefined) throw new Error(`${pageId} is not there`);
  return page;
}

/** The node as it is, with something more in its first line. */
function withFirstLine(page: LoadedPage, nodeId: string): string {
  const { subtree = [] } = nodeIn(page, page.nodes, nodeId) ?? {};
  return writeFragment(page.nodes, subtree, true).replace(
    /(<!--[^\n]*)?$/m,
    (id) => `, more${id === "" ? "" : ` ${id}`}`,
  );
}

async function expectEdited(me: Person, before: LoadedPage, nodeId: string, okf: string): Promise<void> {
  const found = nodeIn(before, before.nodes, nodeId);
  if (found === undefined) throw new Error("it is not there");
  const parsed = parseFragment(okf, before.nodes, found.node);
  const result = await act.do(me, (writer) => editNode(writer, { nodeId, okf }));
  if (parsed.kind === "refused" || (parsed.nodes[0]?.kind !== found.node.kind && parsed.nodes[0]?.kind !== "bullet")) {
    expect(result.kind).toBe("refused");
    return;
  }
  const [root, ...rest] = parsed.nodes;
  const isNamed = root === undefined || root.id === undefined || root.kind !== found.node.kind;
  const named = root === undefined ? [] : [{ ...root, id: isNamed ? nodeId : root.id }];
  const { wanted: made } = diffPage(found.subtree, [...named, ...rest]);
  const subtree = made.map((node, n) => ({
    ...node,
    id: n === 0 ? nodeId : node.id,
    parentId: n === 0 ? found.node.parentId : node.parentId === made[0]?.id ? nodeId : node.parentId,
  }));
  const whole: readonly TreeNode[] = before.nodes;
  const wanted = settleShapes(
    whole.toSpliced(before.nodes.indexOf(found.node), found.subtree.length, ...subtree),
    before.frontmatter,
  );
  await expectPage(me, before, wanted, result.kind);
}

async function expectAppended(me: Person, before: LoadedPage, node: TreeNode | undefined): Promise<void> {
  const canHold = node?.kind === "bullet" || node?.kind === "heading";
  const parentId = canHold ? node.id : null;
  const result = await act.do(me, (writer) =>
    appendBullet(writer, { page: before.id, text: "appended", ...(parentId === null ? {} : { parent: parentId }) }),
  );
  const bullet = { id: crypto.randomUUID(), parentId, kind: "bullet" as const, text: "appended", shape: null };
  const found = parentId === null ? undefined : nodeIn(before, before.nodes, parentId);
  const at = found === undefined ? before.nodes.length : before.nodes.indexOf(found.node) + found.subtree.length;
  const whole: readonly TreeNode[] = before.nodes;
  await expectPage(me, before, settleShapes(whole.toSpliced(at, 0, bullet), before.frontmatter), result.kind);
}

async function expectPage(me: Person, before: LoadedPage, wanted: readonly TreeNode[] | undefined, kind: string) {
  const after = await load(me, before.id);
  if (wanted === undefined) {
    expect(kind).toBe("refused");
    expect(after.nodes).toEqual(before.nodes);
    return;
  }
  expect(writeOutline("", after.nodes)).toBe(writeOutline("", wanted));
  const settled = settleShapes(after.nodes, after.frontmatter);
  expect(settled).toEqual(after.nodes);
}
