import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { afterAll, describe, expect, test } from "vitest";
import { createPage } from "./create-page.ts";
import { lookupPage } from "./lookup.ts";
import { movePage } from "./move-page.ts";
import type { Writer } from "./scope.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { undoCommand } from "./undo-command.ts";
import { applyOkf } from "./apply-okf.ts";

const { sql, url } = await testDatabase();
const elsewhere = connect(url);
afterAll(() => elsewhere.end());
const act = actOn(sql);

test("a page may be given one of its own aliases as its title, and none that another page has", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "T", "---\ntype: Page\naliases: [Tea, Infusion]\n---\n- x\n");
  await act.page(me, "Coffee", "---\ntype: Page\naliases: [Brew]\n---\n- x\n");
  for (const title of ["Coffee", "brew"])
    expect(await act.do(me, (writer) => movePage(writer, { pageId: page.id, title }))).toMatchObject({
      kind: "refused",
    });
  expect(await act.do(me, (writer) => movePage(writer, { pageId: page.id, title: "Tea" }))).toMatchObject({
    kind: "moved",
    page: { title: "Tea" },
  });
});

describe("a title that is given to a page while another is made of it is one page's", () => {
  const giving: Record<string, (me: Person) => Promise<(writer: Writer) => Promise<unknown>>> = {
    "by a rename": async (me) => {
      const { id } = await act.page(me, "A", "- x\n");
      return (writer) => movePage(writer, { pageId: id, title: "X" });
    },
    "by its frontmatter": async (me) => {
      const { id } = await act.page(me, "A", "- x\n");
      return (writer) => applyOkf(writer, { page: id, okf: "---\ntype: Page\ntitle: X\n---\n- x\n" });
    },
    "by taking a rename back": async (me) => {
      const { id } = await act.page(me, "X", "- x\n");
      await act.do(me, (writer) => movePage(writer, { pageId: id, title: "A" }));
      const [command] = await sql<{ id: string }[]>`
        select id from commands where page_id = ${id} order by revision desc limit 1`;
      return (writer) => undoCommand(writer, command?.id ?? "");
    },
  };
  test.each(Object.entries(giving))("%s", async (_how, prepare) => {
    const me = await newWorkspace(sql);
    const give = await prepare(me);
    let waiting: Promise<unknown> = Promise.resolve();
    await transaction(sql, async (tx) => {
      await give({ tx, ...me });
      waiting = transaction(elsewhere, (other) => createPage({ tx: other, ...me }, { title: "x" }));
      const blocked = () => sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      await expect.poll(blocked, { timeout: 45_000 }).toHaveLength(1);
    });
    expect(await waiting).toMatchObject({ kind: "exists", page: { title: "X" } });
    expect(await act.do(me, (reader) => lookupPage(reader, "X"))).toMatchObject({ kind: "found" });
  });
});
