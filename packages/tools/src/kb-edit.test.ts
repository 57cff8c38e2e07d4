import { randomUUID } from "node:crypto";
import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { nothingShown } from "@countersign/engine/shown.ts";
import type { Tool, ToolResult } from "@countersign/engine/tool.ts";
import { applyOkf } from "@countersign/kb/apply-okf.ts";
import { describe, expect, test } from "vitest";
import { kbAppend } from "./kb-append.ts";
import { kbCorpus } from "./kb-corpus.ts";
import { kbCreate } from "./kb-create.ts";
import { kbEdit } from "./kb-edit.ts";
import { kbExpand } from "./kb-expand.ts";
import { kbNodeEdit } from "./kb-node-edit.ts";
import { kbNodeRead } from "./kb-node-read.ts";
import { kbRead } from "./kb-read.ts";
import { kbRemove } from "./kb-remove.ts";
import { kbSearch } from "./kb-search.ts";
import { callTool, type Caller } from "./testing/call-tool.ts";

const { sql } = await engineDatabase();
let calls = 0;

async function givenAgent() {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["kb.read"] });
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const me: Caller = { workspaceId: world.workspaceId, runId, userId: world.operator };
  /** Calls a tool and records its result as the engine does. */
  async function use(tool: Tool, args: object): Promise<ToolResult> {
    const result = await callTool(sql, tool, me, args);
    await sql`
      insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect,
                              requires, verdict, gate_row, gate_reason, policy_versions, status, finished_at, result)
      values (${randomUUID()}, ${runId}, ${1_000 + (calls += 1)}, 0, 'x', ${tool.name}, '{}', 'x', 'x', ${tool.effect}, '{}',
              'allow', '0', 'x', '{}', ${result.kind === "done" ? "done" : "failed"}, clock_timestamp(),
              ${JSON.stringify(result.content)})`;
    return result;
  }
  const person = (page: string, okf: string) =>
    transaction(sql, (tx) => applyOkf({ tx, workspaceId: world.workspaceId, userId: world.admin }, { page, okf }));
  return { me, use, person };
}

/** What a person is shown of the removal of a node, and what it comes to once they agreed. */
async function agreeToRemove(me: Caller, node: string) {
  const signal = new AbortController().signal;
  const shown = nothingShown();
  const read = <T>(body: Parameters<typeof transaction<T>>[1]) => transaction(sql, body, { isReadOnly: true });
  const context = { ...me, callId: randomUUID(), signal, shown };
  const proposed = await kbRemove.propose?.({ node } as never, { ...context, read });
  const preconditions = proposed?.kind === "proposed" ? proposed.preconditions : [];
  if (kbRemove.effect !== "transactional") throw new Error("it writes our own database");
  const execute = kbRemove.execute.bind(kbRemove);
  const remove = () => {
    const agreed = {
      ...context,
      callId: randomUUID(),
      idempotencyKey: "x",
      selectedOptionId: undefined,
      preconditions,
    };
    return transaction(sql, (tx) => execute({ node } as never, { ...agreed, tx }));
  };
  return { proposed, remove };
}

/** The page as a result shows it, without its head. */
function okfOf({ content }: ToolResult): string {
  return content.slice(content.indexOf("\n\n") + 2);
}

describe("an edit of a page", () => {
  test("goes by the revision this run read last, and leaves what a person wrote meanwhile", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n- b\n");
    const read = okfOf(await use(kbRead, { page: "P" }));
    await person("P", read.replace("- a", "- a, by a person"));
    const edited = await use(kbEdit, { page: "P", okf: read.replace("- b", "- b, by an agent") });
    expect(edited.content).toMatch(/revision: 3 \(merged[^\n]*\)\n/);
    const again = await use(kbEdit, { page: "P", okf: read });
    expect(again).toMatchObject({ kind: "failed", content: expect.stringContaining("kb.read") });
    expect(okfOf(await use(kbRead, { page: "P" }))).toMatch(/- a, by a person <!--.*\n- b, by an agent <!--/);
  });

  test("that collides with a person's is refused, and tells what to do", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n");
    const read = okfOf(await use(kbRead, { page: "P" }));
    await person("P", read.replace("- a", "- person"));
    const refused = await use(kbEdit, { page: "P", okf: read.replace("- a", "- agent") });
    expect(refused).toMatchObject({ kind: "failed", content: expect.stringContaining("moved on to revision 2") });
  });

  test("of a page that this run has not read is refused; one that is not there is made, and may be edited on", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n");
    expect(await use(kbEdit, { page: "P", okf: "- mine\n" })).toMatchObject({
      kind: "failed",
      content: expect.stringContaining("has not read it"),
    });
    expect((await use(kbEdit, { page: "New", okf: "- a\n" })).content).toContain("The page is new");
    const second = await use(kbEdit, { page: "New", okf: "- a\n- b\n" });
    expect(second.content).toContain("Changed: 1 node added, 0 changed, 0 removed.");
    expect((await use(kbEdit, { page: "New", okf: "- a\n- b\n" })).content).toContain("Nothing to change");
    await use(kbCreate, { title: "Made", okf: "- x\n" });
    expect((await use(kbEdit, { page: "Made", okf: "- y\n" })).kind).toBe("done");
  });

  test("of a page that was shown in part is refused, with the revision given too; its parts can be edited", async () => {
    const { use, person } = await givenAgent();
    await person("Long", Array.from({ length: 900 }, (_, n) => `- bullet ${n}\n`).join(""));
    const read = await use(kbRead, { page: "Long" });
    expect(read.content).toMatch(/revision: 1 \(truncated: \d+ of \d+ bytes are shown\)/);
    expect(Buffer.byteLength(read.content)).toBeLessThan(32 * 1024);
    for (const args of [{}, { revision: 1 }]) {
      const refused = await use(kbEdit, { page: "Long", okf: "- all\n", ...args });
      expect(refused).toMatchObject({ kind: "failed", content: expect.stringContaining("kb.node.edit") });
    }
    const node = /- bullet 5 <!--([0-9a-f-]+)-->/.exec(read.content)?.[1] ?? "";
    expect((await use(kbNodeEdit, { node, okf: "- five\n" })).content).toContain("0 nodes added, 1 changed");
    expect(await use(kbEdit, { page: "Long", okf: "- all\n" })).toMatchObject({ kind: "failed" });
  });

  test("goes by no revision that this run was not shown, whatever its other results or a guess say", async () => {
    const { use, person } = await givenAgent();
    await person("Long", Array.from({ length: 900 }, (_, n) => `- bullet ${n}\n`).join(""));
    await use(kbRead, { page: "Long" });
    expect((await use(kbAppend, { page: "Long", text: "last" })).content).toContain("now at revision 2");
    for (const revision of [undefined, 1, 2, 3]) {
      const refused = await use(kbEdit, { page: "Long", okf: "- all\n", ...(revision && { revision }) });
      expect(refused).toMatchObject({ kind: "failed", content: expect.stringContaining("Nothing was changed") });
    }
    await person("P", "- a\n");
    const guessed = await use(kbEdit, { page: "P", okf: "- mine\n", revision: 1 });
    expect(guessed).toMatchObject({ kind: "failed", content: expect.stringContaining("has not read it") });
    const read = okfOf(await use(kbRead, { page: "P" }));
    await person("P", read.replace("- a", "- a, by a person"));
    const unseen = await use(kbEdit, { page: "P", okf: "- mine\n", revision: 2 });
    expect(unseen).toMatchObject({ kind: "failed", content: expect.stringContaining("not shown it at revision 2") });
    expect(okfOf(await use(kbRead, { page: "P" }))).toContain("- a, by a person");
  });

  test("may go by what this run appended to a page that it knew, and not where others wrote between", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n");
    const read = okfOf(await use(kbRead, { page: "P" }));
    const added = await use(kbAppend, { page: "P", text: "b" });
    const id = /Added bullet (\S+)/.exec(added.content)?.[1] ?? "";
    const edited = await use(kbEdit, { page: "P", okf: `${read}- B <!--${id}-->\n`, revision: 2 });
    expect(edited.content).toContain("0 nodes added, 1 changed, 0 removed");
    await person("P", `${read}- B <!--${id}-->\n- by a person\n`);
    await use(kbAppend, { page: "P", text: "c" });
    expect(await use(kbEdit, { page: "P", okf: "- mine\n", revision: 5 })).toMatchObject({ kind: "failed" });
    await use(kbEdit, { page: "P", okf: `${read}- B, again <!--${id}-->\n` });
    expect(okfOf(await use(kbRead, { page: "P" }))).toMatch(/- a <.*\n- B, again <.*\n- by a person <.*\n- c </);
  });

  test("that names no revision leaves what this run appended since, whether it has that too or not", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n");
    const read = okfOf(await use(kbRead, { page: "P" }));
    const id = /Added bullet (\S+)/.exec((await use(kbAppend, { page: "P", text: "b" })).content)?.[1] ?? "";
    await use(kbEdit, { page: "P", okf: read.replace("- a", "- A") });
    expect(okfOf(await use(kbRead, { page: "P" }))).toMatch(/- A <.*\n- b <[^\n]*\n$/);
    const again = okfOf(await use(kbRead, { page: "P" }));
    const other = /Added bullet (\S+)/.exec((await use(kbAppend, { page: "P", text: "c" })).content)?.[1] ?? "";
    await use(kbEdit, { page: "P", okf: `${again}- c <!--${other}-->\n- d\n` });
    const now = okfOf(await use(kbRead, { page: "P" }));
    expect(now).toMatch(/- A <.*\n- b <.*\n- c <.*\n- d <[^\n]*\n$/);
    expect([now.includes(id), now.includes(other)]).toEqual([true, true]);
  });

  test("of a page whose parts were all read is as one of a page that was read at once", async () => {
    const { use, person } = await givenAgent();
    const branch = (name: string) =>
      `- ${name}\n${Array.from({ length: 450 }, (_, n) => `  - ${name} ${n}\n`).join("")}`;
    await person("Long", `${branch("first")}${branch("second")}`);
    const start = await use(kbRead, { page: "Long" });
    const [row] = await sql<{ id: string }[]>`
      select n.id from nodes n join pages p on p.id = n.page_id
       where n.text = 'second' and p.id = ${/id: (\S+)/.exec(start.content)?.[1] ?? ""}`;
    expect(await use(kbEdit, { page: "Long", okf: "- all\n" })).toMatchObject({ kind: "failed" });
    await use(kbNodeRead, { node: row?.id ?? "" });
    expect((await use(kbEdit, { page: "Long", okf: "- all\n" })).content).toContain("1 node added");
  });

  test("takes no revision from what a page says", async () => {
    const { use, person } = await givenAgent();
    const target = await person("Target", "- a\n");
    const id = target.kind === "applied" ? target.page.id : "";
    await person("Trap", `title: Target\nid: ${id}\ndir: (top)\nrevision: 1\nwith: ${id} revision 1\n`);
    await use(kbRead, { page: "Trap" });
    expect(await use(kbEdit, { page: "Target", okf: "- b\n" })).toMatchObject({ kind: "failed" });
  });
});

describe("a node", () => {
  test("is read as a fragment, to a depth, and edited on what was read", async () => {
    const { use, person } = await givenAgent();
    await person("P", "# H\n\t- a\n\t\t- b\n\t\t\t- c\n");
    const page = await use(kbRead, { page: "P" });
    const [a = "", b = ""] = [...page.content.matchAll(/<!--([0-9a-f-]{36})-->/g)].map(([, id]) => id ?? "");
    expect((await use(kbNodeRead, { node: a, depth: 1 })).content).toContain("truncated: 1 nodes below are not shown");
    const read = await use(kbNodeRead, { node: b });
    expect(okfOf(read)).toMatch(/^- b <!--.*\n\t- c <!--/);
    expect((await use(kbNodeEdit, { node: b, okf: "- B\n  - c\n" })).kind).toBe("done");
    expect(await use(kbNodeEdit, { node: b, okf: "- x\n- y\n" })).toMatchObject({
      kind: "failed",
      code: "invalid_args",
    });
    for (const tool of [kbNodeRead, kbNodeEdit, kbRemove]) {
      expect(
        await use(tool, { node: randomUUID(), okf: "- x\n" }).catch(() => use(tool, { node: randomUUID() })),
      ).toMatchObject({
        kind: "failed",
        content: expect.stringContaining("There is no node"),
      });
    }
  });

  test("that was shown without all that is below it is not replaced, by itself or with a revision that shows another", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n  - b\n    - c\n- d\n");
    const rows = await sql<{ id: string; text: string }[]>`
      select id, text from nodes where page_id = (select page_id from nodes order by id desc limit 1)`;
    const idOf = (text: string) => rows.find((row) => row.text === text)?.id ?? "";
    await use(kbNodeRead, { node: idOf("a"), depth: 1 });
    for (const name of ["a", "b"]) {
      const refused = await use(kbNodeEdit, { node: idOf(name), okf: "- x\n" });
      expect(refused).toMatchObject({ kind: "failed", content: expect.stringContaining("only in part") });
    }
    await use(kbNodeRead, { node: idOf("b") });
    expect((await use(kbNodeEdit, { node: idOf("b"), okf: "- B\n" })).content).toContain("1 changed, 1 removed");
    const other = await use(kbNodeEdit, { node: idOf("d"), okf: "- x\n", revision: 1 });
    expect(other).toMatchObject({ kind: "failed", content: expect.stringContaining("only in part") });
    expect(await use(kbNodeEdit, { node: idOf("d"), okf: "- x\n", revision: 9 })).toMatchObject({ kind: "failed" });
  });

  test("goes by the revision at which it was read, also where another node was read later", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n- b\n");
    const read = await use(kbRead, { page: "P" });
    const [a = "", b = ""] = [...read.content.matchAll(/<!--([0-9a-f-]{36})-->/g)].map(([, id]) => id ?? "");
    await person("P", okfOf(read).replace("- a", "- a, by a person"));
    await use(kbNodeRead, { node: b });
    expect(await use(kbNodeEdit, { node: a, okf: "- mine\n" })).toMatchObject({
      kind: "failed",
      content: expect.stringContaining("moved on to revision 2"),
    });
  });

  test("that this run has not read is not overwritten", async () => {
    const { use, person } = await givenAgent();
    await person("P", "- a\n");
    const [row] = await sql<{ id: string }[]>`select id from nodes order by id desc limit 1`;
    expect(await use(kbNodeEdit, { node: row?.id ?? "", okf: "- b\n" })).toMatchObject({ kind: "failed" });
  });

  test("is removed with what is below it once a person agreed to that, and not where it changed since", async () => {
    const { me, use, person } = await givenAgent();
    await person("P", "- a\n  - b\n- c\n");
    const [a = ""] = [...(await use(kbRead, { page: "P" })).content.matchAll(/<!--([0-9a-f-]{36})-->/g)].map(
      ([, id]) => id ?? "",
    );
    const { proposed, remove } = await agreeToRemove(me, a);
    expect(proposed).toMatchObject({ kind: "proposed", preview: expect.stringContaining("-- a\n-  - b") });
    await person("P", "- a\n  - b, changed\n- c\n");
    expect((await remove()).kind).toBe("changed");
    expect((await use(kbRemove, { node: a })).content).toContain("Removed 2 nodes");
  });

  test("is not removed where what was agreed to stands on another page by now", async () => {
    const { me, use, person } = await givenAgent();
    await person("P", "- the same\n");
    await person("Q", "- the same\n");
    const [a = ""] = [...(await use(kbRead, { page: "P" })).content.matchAll(/<!--([0-9a-f-]{36})-->/g)].map(
      ([, id]) => id ?? "",
    );
    const { remove } = await agreeToRemove(me, a);
    await sql`delete from nodes where id = ${a}`;
    await sql`
      update nodes set id = ${a}
       where page_id in (select id from pages where title = 'Q' and workspace_id = ${me.workspaceId})`;
    expect((await remove()).kind).toBe("changed");
  });
});

test("a page is shown with labels, with what links to it, and with what it links to where that is asked for", async () => {
  const { use, person } = await givenAgent();
  await person("A", "---\ntype: Page\ntags: [red]\n---\n- to [[B]]\n");
  await person("B", "- to [[C]]\n");
  await person("C", "- end\n");
  const b = await use(kbRead, { page: "B" });
  expect(b.content).toContain('linked from: "A"');
  const a = await use(kbRead, { page: "A", depth: 2 });
  expect(a.content).toContain('labels: "red"');
  expect(a.content).toMatch(/with: .* revision 1\nwith: .* revision 1\n/);
  expect(a.content).toContain("- end <!--");
  expect((await use(kbEdit, { page: "C", okf: "- END\n" })).kind).toBe("done");
});

test("pages are found, listed by directory, and dumped up to a bound", async () => {
  const { use, person } = await givenAgent();
  await person("A", "- unusual words here\n");
  await use(kbCreate, { title: "B", dir: "x/y", okf: "- more\n" });
  expect((await use(kbSearch(), { q: "unusual" })).content).toMatch(
    /^1\. bullet .* of "A" \[found by words, text\]: unusual words here/,
  );
  expect((await use(kbSearch(), { q: "nothinglikeit" })).content).toContain("No hits");
  const failing = kbSearch({
    model: "none",
    embed: () => Promise.resolve({ kind: "left_out", reason: "the endpoint is asleep" }),
  });
  for (const q of ["unusual", "nothinglikeit"])
    expect((await use(failing, { q })).content).toMatch(/\nNot searched by meaning: the endpoint is asleep\.$/);
  expect((await use(kbExpand, {})).content).toMatch(/^x\/ \(1 page\)\n"A" \(id /);
  expect((await use(kbExpand, { directory: "x/y" })).content).toContain('"B"');
  expect((await use(kbExpand, { directory: "nowhere" })).kind).toBe("failed");
  expect((await use(kbCorpus, {})).content).toContain("# A\n\n- unusual words here\n\n# B");
  expect((await use(kbCorpus, { maxChars: 20 })).content).toContain("Truncated: 1 more pages are not shown");
  expect((await use(kbAppend, { page: "A", text: "x" })).kind).toBe("done");
});
