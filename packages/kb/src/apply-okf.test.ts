import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { describe, expect, test } from "vitest";
import { editNode } from "./edit-node.ts";
import { readPage } from "./read-page.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);
const agent = { call: { runId: randomUUID(), callId: randomUUID() } };

describe("node ids in text", () => {
  test("KN01: of two bullets with one id the first keeps it, both texts stay, and the result says so", async () => {
    const me = await newWorkspace(sql);
    const x = randomUUID();
    const result = await act.importFile(me, "p.md", `- a <!--${x}-->\n- b <!--${x}-->\n`);
    if (result.kind !== "imported") throw new Error(result.kind);
    expect(result.warnings).toEqual([expect.stringContaining(x)]);
    const [first, second] = await act.ids(me, result.page.id);
    expect(first).toBe(x);
    expect(second).not.toBe(x);
    expect(await act.text(me, result.page.id)).toBe("- a\n- b\n");
  });

  test("KN01: an edit that doubles a bullet with its id keeps the id on the first", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n");
    const [a = ""] = await act.ids(me, page.id);
    const result = await act.edit(me, { page: page.id, okf: `- a <!--${a}-->\n- a <!--${a}-->\n` });
    expect(result).toMatchObject({ kind: "applied", added: 1, changed: 0, warnings: [expect.stringContaining(a)] });
    expect((await act.ids(me, page.id))[0]).toBe(a);
  });

  test("an id of another page never moves a node", async () => {
    const me = await newWorkspace(sql);
    const other = await act.page(me, "Other", "- theirs\n");
    const [theirs = ""] = await act.ids(me, other.id);
    const page = await act.page(me, "P", "- mine\n");
    const result = await act.edit(me, { page: page.id, okf: `- mine\n- stolen <!--${theirs}-->\n` });
    expect(result).toMatchObject({ kind: "applied", added: 1, warnings: [expect.stringContaining(theirs)] });
    expect(await act.ids(me, other.id)).toEqual([theirs]);
    expect(await act.ids(me, page.id)).not.toContain(theirs);
  });

  test("KN02: importing the identical file writes nothing at all", async () => {
    const me = await newWorkspace(sql);
    const source = "---\ntype: T\n---\n\n# H\n\n- a\n\t- b\n\ntext\n";
    const first = await act.importFile(me, "d/p.md", source);
    const before = await sql`select xmin::text, id from nodes where workspace_id = ${me.workspaceId} order by id`;
    expect(await act.importFile(me, "d/p.md", source)).toMatchObject({ kind: "unchanged", page: { revision: 1 } });
    expect(await sql`select xmin::text, id from nodes where workspace_id = ${me.workspaceId} order by id`).toEqual(
      before,
    );
    expect(first).toMatchObject({ kind: "imported", nodeCount: 4 });
  });

  test("KN03: a comment that is no id is content, and in code an id is text", async () => {
    const me = await newWorkspace(sql);
    const id = randomUUID();
    const source = `- a <!-- note -->\n- b <!--x-->\n- \`c <!--${id}-->\`\n- \`\`\`\n  d <!--${id}-->\n  \`\`\`\n`;
    const result = await act.importFile(me, "p.md", source);
    if (result.kind !== "imported") throw new Error(result.kind);
    expect(await act.text(me, result.page.id)).toBe(source);
    expect(await sql`select from nodes where id = ${id}`).toEqual([]);
  });

  test("KN04: what one adds and another edits is there once each", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n- b\n");
    const read = await act.outline(me, page.id, true);
    await act.edit(me, { page: page.id, okf: `${read}- c\n` });
    const result = await act.edit(me, { page: page.id, okf: read.replace("- b", "- b'"), revision: page.revision });
    expect(result).toMatchObject({ kind: "applied", isMerged: true });
    expect(await act.outline(me, page.id)).toBe("- a\n- b'\n- c\n");
  });

  test("KN05: a page sent back without its ids keeps every one", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n  - same\n- b\n  - same\n- same\n\n# H\n\ntext\n");
    const ids = await sql`select id from nodes where page_id = ${page.id} order by id`;
    const result = await act.edit(me, { page: page.id, okf: await act.text(me, page.id) });
    expect(result).toMatchObject({ kind: "unchanged", isAsGiven: true });
    expect(await sql`select id from nodes where page_id = ${page.id} order by id`).toEqual(ids);
  });
});

describe("an edit", () => {
  test("KN08: of a fence changes the fence alone", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "# H\n\n- a\n- b\n\n```js\nold\n```\n");
    const result = await act.edit(me, { page: page.id, okf: (await act.outline(me, page.id)).replace("old", "new") });
    expect(result).toMatchObject({ kind: "applied", added: 0, changed: 1, removed: 0 });
  });

  test("KN09: of a file with CRLF line ends keeps them", async () => {
    const me = await newWorkspace(sql);
    const source = "---\r\ntype: T\r\n---\r\n- a\r\n";
    const imported = await act.importFile(me, "p.md", source);
    if (imported.kind !== "imported") throw new Error(imported.kind);
    await act.edit(me, { page: imported.page.id, okf: "- a\n- b\n" });
    const again = await act.importFile(me, "p.md", "---\r\ntype: T\r\n---\r\n- a\r\n- b\r\n");
    expect(again.kind).toBe("unchanged");
  });

  test("that is sent twice changes nothing the second time, even with the old revision", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n");
    const edit = { page: page.id, okf: "- a\n- new\n  - child\n", revision: page.revision };
    expect(await act.edit(me, edit)).toMatchObject({ kind: "applied", added: 2 });
    expect(await act.edit(me, edit)).toMatchObject({ kind: "unchanged" });
    expect(await act.outline(me, page.id)).toBe("- a\n- new\n  - child\n");
  });

  test("of one bullet among 2,000 changes one row", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", Array.from({ length: 2_000 }, (_, n) => `- bullet ${n}\n`).join(""));
    const before = await sql`select xmin::text, id from nodes where page_id = ${page.id}`;
    const text = await act.text(me, page.id, true);
    const result = await act.edit(me, { page: page.id, okf: text.replace("- bullet 1000 ", "- changed ") });
    expect(result).toMatchObject({ kind: "applied", added: 0, changed: 1, removed: 0 });
    const after = await sql`select xmin::text, id from nodes where page_id = ${page.id}`;
    const known = new Map(before.map((row) => [row["id"], row["xmin"]]));
    expect(after.filter((row) => known.get(row["id"]) !== row["xmin"])).toHaveLength(1);
  });

  test("of a page that is not there makes it; without frontmatter it gets one, and keeps it when a later edit leaves it out", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "New", "- a\n", "Some Dir");
    expect(page).toMatchObject({ title: "New", dir: "some-dir", revision: 1 });
    await act.edit(me, { page: "new", okf: "- b" });
    expect(await act.text(me, page.id)).toBe('---\ntype: Page\ntitle: "New"\n---\n\n- b\n');
  });

  test("KN14: of an agent may not say that a person verified the page; of a person it may", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n");
    for (const verified of [
      "{by: human:ann}",
      "[{by: process:x}, {by: 'human:ann', at: 2026-01-01T00:00:00Z}]",
      '\n  - "by": human:ann',
      "\n  by: >-\n    human:ann",
      "&x {by: human:ann}\ny: *x",
    ]) {
      const okf = `---\ntype: Page\ntitle: P\nverified: ${verified}\n---\n\n- a\n`;
      expect(await act.edit({ ...me, ...agent }, { page: page.id, okf }), verified).toMatchObject({
        kind: "refused",
        reason: expect.stringContaining("verified"),
      });
      expect(await act.edit({ ...me, isPerson: false }, { page: page.id, okf })).toMatchObject({ kind: "refused" });
      expect(await act.edit({ ...me, ...agent }, { page: `New ${verified.length}`, okf })).toMatchObject({
        kind: "refused",
      });
    }
    const okf = "---\ntype: Page\ntitle: P\nverified: {by: human:ann}\n---\n\n- a\n";
    expect(await act.edit(me, { page: page.id, okf })).toMatchObject({ kind: "applied" });
    expect(await act.edit({ ...me, ...agent }, { page: page.id, okf: okf.replace("- a", "- b") })).toMatchObject({
      kind: "applied",
    });
    expect(await act.edit({ ...me, ...agent }, { page: page.id, okf: okf.replace("ann", "bob") })).toMatchObject({
      kind: "refused",
    });
  });
});

describe("a stale edit", () => {
  test("KN13: keeps what a person wrote meanwhile, or is refused with nothing written", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n- b\n- c\n");
    const read = await act.outline(me, page.id, true);
    await act.edit(me, { page: page.id, okf: read.replace("- a", "- a, says a person") });

    const merged = await act.edit(
      { ...me, ...agent },
      { page: page.id, okf: read.replace("- c", "- c, says an agent"), revision: 1 },
    );
    expect(merged).toMatchObject({ kind: "applied", isMerged: true });
    expect(await act.outline(me, page.id)).toBe("- a, says a person\n- b\n- c, says an agent\n");

    const refused = await act.edit(
      { ...me, ...agent },
      { page: page.id, okf: read.replace("- a", "- A"), revision: 1 },
    );
    expect(refused).toMatchObject({ kind: "stale", page: { revision: 3 } });
    expect(await act.outline(me, page.id)).toBe("- a, says a person\n- b\n- c, says an agent\n");
  });

  test.each([
    ["removes what another changed", "- b\n", "- a!\n- b\n"],
    ["changes what another removed", "- a!\n- b\n", "- b\n"],
    ["puts a bullet below one that another removed", "- a\n  - new\n- b\n", "- b\n"],
    [
      "changes the frontmatter that another changed",
      "---\ntype: X\ntitle: P\n---\n- a\n- b\n",
      "---\ntype: Y\ntitle: P\n---\n- a\n- b\n",
    ],
  ])("that %s is refused", async (_what, theirs, ours) => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n- b\n");
    const ids = await act.ids(me, page.id);
    const named = (text: string) =>
      text
        .replace(/^- a/m, `- a`)
        .replace(/^- (a!?)$/m, `- $1 <!--${ids[0]}-->`)
        .replace(/^- b$/m, `- b <!--${ids[1]}-->`);
    expect(await act.edit(me, { page: page.id, okf: named(ours) })).toMatchObject({ kind: "applied" });
    expect(await act.edit(me, { page: page.id, okf: named(theirs), revision: 1 })).toMatchObject({ kind: "stale" });
  });

  test("with a revision that never was is refused", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n");
    for (const revision of [0, -1, 2, 99]) {
      expect(await act.edit(me, { page: page.id, okf: "- b\n", revision })).toMatchObject({ kind: "refused" });
    }
  });
});

describe("an edit of a node", () => {
  test("changes it and what is below it, and finds the ids below it again", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "# H\n\t- a\n\t\t- b\n\t\t- c\n\t- d\n");
    const [a = "", b = "", c = "", d = ""] = await act.ids(me, page.id);
    const okf = "- A\n  - new\n  - b\n  - c!\n";
    expect(await act.do(me, (writer) => editNode(writer, { nodeId: a, okf }))).toMatchObject({
      kind: "applied",
      added: 1,
    });
    const ids = await act.ids(me, page.id);
    expect([ids[0], ids[2], ids[3], ids[4]]).toEqual([a, b, c, d]);
    expect((await act.outline(me, page.id)).replaceAll("\t", "  ")).toBe(
      "# H\n  - A\n    - new\n    - b\n    - c!\n  - d\n",
    );
  });

  test("has exactly one bullet at its root", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n- b\n");
    const [a = ""] = await act.ids(me, page.id);
    for (const okf of ["- x\n- y\n", "", "---\ntype: T\n---\n- x\n", "text"]) {
      expect(await act.do(me, (writer) => editNode(writer, { nodeId: a, okf })), okf).toMatchObject({
        kind: "refused",
      });
    }
    expect(await act.do(me, (writer) => editNode(writer, { nodeId: randomUUID(), okf: "- x" }))).toEqual({
      kind: "missing",
    });
  });

  test("that is stale is merged with the rest of the page", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n- b\n");
    const [a = "", b = ""] = await act.ids(me, page.id);
    await act.do(me, (writer) => editNode(writer, { nodeId: b, okf: "- b!" }));
    expect(await act.do(me, (writer) => editNode(writer, { nodeId: a, okf: "- a!", revision: 1 }))).toMatchObject({
      kind: "applied",
    });
    expect(await act.do(me, (writer) => editNode(writer, { nodeId: b, okf: "- B", revision: 1 }))).toMatchObject({
      kind: "stale",
    });
    expect(await act.outline(me, page.id)).toBe("- a!\n- b!\n");
  });
});

test("KN15: two that insert between the same neighbours at once get one order, and a later one fits between them", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- a\n- z\n");
  const read = await act.outline(me, page.id, true);
  const both = ["x", "y"].map((name) =>
    act.edit(me, { page: page.id, okf: read.replace("- z", `- ${name}\n- z`), revision: 1 }),
  );
  expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(["applied", "applied"]);
  const [, x = "", y = ""] = await act.ids(me, page.id);
  await sql`update nodes set order_key = (select order_key from nodes where id = ${x}) where id = ${y}`;
  const text = await act.outline(me, page.id, true);
  const lines = text.split("\n");
  await act.edit(me, { page: page.id, okf: lines.toSpliced(2, 0, "- between").join("\n") });
  const after = await act.outline(me, page.id);
  expect(after.split("\n").filter((line) => line !== "")[2]).toBe("- between");
  expect(after).toBe(await act.outline(me, page.id));
});

test("two agents and a person edit one page in many rounds: nothing is lost or doubled, and what collides is refused", async () => {
  const me = await newWorkspace(sql);
  const names = ["one", "two", "person"];
  const page = await act.page(me, "P", Array.from({ length: 12 }, (_, n) => `- shared ${n}\n`).join(""));
  const wrote = new Set<string>();
  let stale = 0;
  const rounds = 40;
  await Promise.all(
    names.map(async (name, who) => {
      const by = name === "person" ? me : { ...me, ...agent };
      for (let round = 0; round < rounds; round += 1) {
        const read = await act.do(by, (writer) => readPage(writer, page.id, { withIds: true }));
        if (read === undefined) throw new Error("the page is gone");
        const mine = `${name} ${round}`;
        const target = (round * 5 + who * 3) % 12;
        const isAdding = round % 2 === 0;
        const okf = isAdding
          ? read.markdown.replace(new RegExp(`^(- shared ${target}\\b.*)$`, "m"), `$1\n- ${mine}`)
          : read.markdown.replace(new RegExp(`^- shared ${target}\\b[^<]*`, "m"), `- shared ${target} by ${mine} `);
        const result = await act.edit(by, { page: page.id, okf, revision: read.revision });
        if (result.kind === "applied" && isAdding) wrote.add(`- ${mine}`);
        else if (result.kind === "stale") stale += 1;
        else if (result.kind !== "applied") throw new Error(JSON.stringify(result));
      }
    }),
  );
  const lines = (await act.outline(me, page.id)).split("\n").filter((line) => line !== "");
  for (const line of wrote)
    expect(
      lines.filter((found) => found === line),
      line,
    ).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith("- shared"))).toHaveLength(12);
  expect(lines).toHaveLength(12 + wrote.size);
  const ids = await act.ids(me, page.id);
  expect(new Set(ids).size).toBe(lines.length);
  expect(stale).toBeLessThan(names.length * rounds);
});
