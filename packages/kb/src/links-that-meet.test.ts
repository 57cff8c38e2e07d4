import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test, vi } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { applyOkf } from "./apply-okf.ts";
import { createPage } from "./create-page.ts";
import { editNode } from "./edit-node.ts";
import { importPage } from "./import-page.ts";
import { movePage } from "./move-page.ts";
import { listBacklinks, listLinked } from "./page-links.ts";
import type { Writer } from "./scope.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase({ max: 12 });
const act = actOn(sql);

/** Begins `second` while `first` is done and not yet committed, and commits once that waits, or is done too. */
async function meet(me: Person, first: Act, second: Act): Promise<void> {
  let other: Promise<unknown> | undefined;
  let isDone = false;
  await act.do(me, async (writer) => {
    await first(writer);
    other = act.do(me, second).finally(() => (isDone = true));
    await vi.waitUntil(
      async () =>
        isDone ||
        (await sql`select from pg_locks where not granted and locktype in ('advisory', 'transactionid', 'tuple')`)
          .length > 0,
      { timeout: 45_000, interval: 5 },
    );
  });
  await other;
}

/** Every page with links has so many, and each leads to a page that knows of it. */
async function expectAllLead(me: Person, count: number): Promise<void> {
  const pages = await sql<{ id: string }[]>`
    select distinct page_id as id from links where workspace_id = ${me.workspaceId}`;
  expect(pages.length).toBeGreaterThan(0);
  for (const { id } of pages) {
    const linked = await act.do(me, (reader) => listLinked(reader, id, 100));
    expect(linked.length).toBe(count);
    for (const other of linked) {
      const back = await act.do(me, (reader) => listBacklinks(reader, other.id, 100));
      expect(back.map((page) => page.id)).toContain(id);
    }
  }
}

type Act = (writer: Writer) => Promise<unknown>;

test.each<[string, string, Act]>([
  ["title", "[[Made]]", (writer) => createPage(writer, { title: "Made" })],
  ["alias", "[[Also]]", (writer) => createPage(writer, { title: "It", okf: "---\naliases: [Also]\n---\n" })],
  [
    "new alias",
    "[[Other]]",
    (writer) => applyOkf(writer, { page: "There", okf: "---\ntitle: There\naliases: [Other]\n---\n- x\n" }),
  ],
  ["new title", "[[Then]]", (writer) => applyOkf(writer, { page: "There", okf: "---\ntitle: Then\n---\n- x\n" })],
  ["file", "[it](file.md)", (writer) => importPage(writer, { dir: "", fileName: "file.md", source: "- x\n" })],
])(
  "a link by %s and the page it goes to, written at once, find each other, whichever is first",
  async (_by, link, make) => {
    const linking: ((writer: Writer, page: string, node: string) => Promise<unknown>)[] = [
      (writer, page) => appendBullet(writer, { page, text: `to ${link}` }),
      (writer) => applyOkf(writer, { page: "New", okf: `- to ${link}\n` }),
      (writer, _page, nodeId) => editNode(writer, { nodeId, okf: `- to ${link}` }),
    ];
    for (const write of linking) {
      for (const isLinkFirst of [true, false]) {
        const me = await newWorkspace(sql);
        const page = await act.page(me, "Links", "- here\n");
        const [node = ""] = await act.ids(me, page.id);
        await act.page(me, "There", "- x\n");
        const links: Act = (writer) => write(writer, page.id, node);
        await (isLinkFirst ? meet(me, links, make) : meet(me, make, links));
        await expectAllLead(me, 1);
      }
    }
  },
);

test("a link that is written while its page is renamed says a name of the page, or none that it had before it was written", async () => {
  const me = await newWorkspace(sql);
  const target = await act.page(me, "Name 0", "- x\n");
  const pages = await Promise.all([1, 2, 3].map((n) => act.page(me, `Linking ${n}`, "- to [[Name 0]]\n")));
  for (let n = 1; n <= 6; n += 1) {
    const before = `Name ${n - 1}`;
    await Promise.all([
      act.do(me, (writer) => movePage(writer, { pageId: target.id, title: `Name ${n}` })),
      ...pages.map(({ id }) =>
        act.do(me, (writer) => appendBullet(writer, { page: id, text: `to [[${before}]] in round ${n}` })),
      ),
    ]);
    const stale = await sql`
      select n.text from links l join nodes n on n.id = l.node_id
       where l.target_page_id = ${target.id} and l.target <> ${`name ${n}`}`;
    expect(stale, before).toEqual([]);
  }
});

test("pages that link to each other are made at once, however many, and nobody waits for ever", async () => {
  const me = await newWorkspace(sql);
  const titles = Array.from({ length: 24 }, (_, n) => `Page ${n}`);
  const made = await Promise.all(
    titles.map((title, n) =>
      act.edit(me, {
        page: title,
        okf: `- ${titles
          .toSpliced(n, 1)
          .map((t) => `[[${t}]]`)
          .join(" ")}\n`,
      }),
    ),
  );
  expect(new Set(made.map(({ kind }) => kind))).toEqual(new Set(["applied"]));
  await expectAllLead(me, 23);
});
