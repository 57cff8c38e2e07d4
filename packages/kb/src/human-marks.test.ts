import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { editNode } from "./edit-node.ts";
import { readHumanMarks } from "./human-marks.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);
const agent = {
  call: { runId: "00000000-0000-7000-8000-000000000001", callId: "00000000-0000-7000-8000-000000000002" },
};
const pad = `note: ${"x".repeat(20_100)}\n`;

const forgeries: Record<string, string> = {
  "a plain one": "verified: {by: human:ada}\n",
  "a value alone": "verified: human:ada\n",
  "an escaped key": '"verifi\\u0065d": {by: "hum\\u0061n:ada"}\n',
  "an escaped key, in long frontmatter": `${pad}"verifi\\u0065d": {by: "hum\\u0061n:ada"}\n`,
  "a value folded in the middle": 'verified:\n  by: "hu\\\n    man:ada"\n',
  "a folded value in long frontmatter": `${pad}verified:\n  by: "hu\\\n    man:ada"\n`,
  "many aliases": `x: &x [1]\ny: [${"*x,".repeat(30)}]\n"verifi\\u0065d": {by: "hum\\u0061n:ada"}\n`,
  "a map for a name": "verified: {by: {human: ada}}\n",
  "a name as a key": 'verified: {"human:ada": 2026-01-01}\n',
  "a set": 'verified: !!set {"human:ada"}\n',
  "a set by keys": "verified: !!set\n  ? human:ada\n",
  bytes: `verified: {by: !!binary ${Buffer.from("human:ada").toString("base64")}}\n`,
  "bytes for the key": `!!binary ${Buffer.from("verified").toString("base64")}: {by: human:ada}\n`,
  "a tag for a name": "verified: {by: !human ada}\n",
  "an alias": "who: &h human:ada\nverified: {by: *h}\n",
  "an alias for all of it": "v: &v {by: human:ada}\nverified: *v\n",
  "an alias for the key": "k: &k verified\n*k : {by: human:ada}\n",
  "a list for the key": "[verified]: human:ada\n",
  "a key that stands twice": "verified: {by: human:ada}\nverified: {by: process:x}\n",
  "a merged map": "m: &m {by: human:ada}\nverified: {<<: *m}\n",
  "a nested one": "x: {y: [{verified: [{by: human:ada}]}]}\n",
  "other spellings": "Verified : {by: 'Human : ada'}\n",
  "wide letters": "verified: {by: ｈｕｍａｎ:ada}\n",
  "a letter that is not seen": "verified: {by: 'hu\u200Bman:ada'}\n",
  "a next line that is none for us": "x: 1 # y\u0085verified: {by: human:ada}\n",
  "a return that is no line end for us": "x: 1 # y\rverified: {by: human:ada}\n",
  "a separator of lines": "x: 1 # y\u2028verified: {by: human:ada}\n",
  "a document that ended": "x: 1\n...\nverified: {by: human:ada}\n",
  "a fence that is longer": "x: |\n  a\n-----\nverified: {by: human:ada}\n",
  "what YAML refuses": "title: a: b\nverified: {by: human:ada}\n",
};

test.each(Object.entries(forgeries))("an agent cannot say that a person verified a page by %s", async (_form, head) => {
  const me = await newWorkspace(sql);
  const okf = `---\ntype: Page\ntitle: P\n${head}---\n\n- a\n`;
  expect(await act.edit({ ...me, ...agent }, { page: "New", okf })).toMatchObject({ kind: "refused" });
  const page = await act.page(me, "P", "- a\n");
  expect(await act.edit({ ...me, ...agent }, { page: page.id, okf })).toMatchObject({ kind: "refused" });
  expect(await act.importFile({ ...me, isPerson: false }, "f.md", okf)).toMatchObject({ kind: "skipped" });
  expect(await act.text(me, page.id)).not.toContain("human");
});

test.each([
  ["verified: [{by: process:nightly}]"],
  ["verified: {by: agent:x, note: 'ask a human'}"],
  ["by: human:ada"],
  ["description: verified by human:ada"],
  ["tags: [human]\nverified: {by: 'humanoid:x'}"],
])("what claims nothing of a person is an agent's to write: %s", async (head) => {
  const me = await newWorkspace(sql);
  const okf = `---\ntype: Page\ntitle: P\n${head}\n---\n\n- a\n`;
  expect(await act.edit({ ...me, ...agent }, { page: "P", okf })).toMatchObject({ kind: "applied" });
});

test("what a person said may stay as it is where an agent changes something else, and goes nowhere else", async () => {
  const me = await newWorkspace(sql);
  const head = (type: string, mark: string): string => `---\ntype: ${type}\ntitle: P\nverified: ${mark}\n---\n\n`;
  const mark = "[{by: process:x}, {by: human:ann, at: 2026-01-01}]";
  const page = await act.page(me, "P", `${head("A", mark)}- a\n`);
  const edit = (okf: string) => act.edit({ ...me, ...agent }, { page: page.id, okf });
  expect(await edit(`${head("B", mark)}- b\n`)).toMatchObject({ kind: "applied" });
  expect(await edit(`${head("B", mark.replace("2026", "2027"))}- b\n`)).toMatchObject({ kind: "refused" });
  expect(await edit(`${head("B", "[{by: process:x}]")}- b\n`)).toMatchObject({ kind: "applied" });
  expect(await edit(`${head("B", mark)}- b\n`)).toMatchObject({ kind: "refused" });
});

test("what stands behind an alias of a mark stays as it is, too", async () => {
  const me = await newWorkspace(sql);
  const head = (name: string): string => `---\ntype: A\ntitle: P\nwho: &h human:${name}\nverified: {by: *h}\n---\n\n`;
  const page = await act.page(me, "P", `${head("ann")}- a\n`);
  const edit = (okf: string) => act.edit({ ...me, ...agent }, { page: page.id, okf });
  expect(await edit(`${head("ann")}- b\n`)).toMatchObject({ kind: "applied" });
  expect(await edit(`${head("bob")}- b\n`)).toMatchObject({ kind: "refused" });
});

test("an agent edits a page whose frontmatter YAML refuses, and leaves that as it is", async () => {
  const me = await newWorkspace(sql);
  const imported = await act.importFile(me, "o.md", "---\ntitle: a: b\nx: [\n---\n\n- a\n");
  if (imported.kind !== "imported") throw new Error(imported.kind);
  const edit = (okf: string) => act.edit({ ...me, ...agent }, { page: imported.page.id, okf });
  expect(await edit("- b\n")).toMatchObject({ kind: "applied" });
  expect(await edit("---\ntitle: a: c\nx: [\n---\n\n- b\n")).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("frontmatter"),
  });
  expect(await edit('---\ntitle: "a: c"\nx: []\n---\n\n- b\n')).toMatchObject({ kind: "applied" });
});

test("an agent cannot make a page begin with what is frontmatter to other programs", async () => {
  const me = await newWorkspace(sql);
  const imported = await act.importFile(me, "plain.md", "text\n\n- a\n");
  if (imported.kind !== "imported") throw new Error(imported.kind);
  const as = { ...me, ...agent };
  for (const head of [
    "-----\nverified: {by: human:ada}\n-----\n",
    "---\nverified: {by: human:ada}\n...\n",
    "\n---\nverified: {by: human:ada}\n---\n",
    "---\r\nverified: {by: human:ada}\r\n---\r\n\n",
  ]) {
    expect(await act.edit(as, { page: imported.page.id, okf: `${head}\n- a\n` }), head).toMatchObject({
      kind: "refused",
    });
    expect(await act.importFile({ ...me, isPerson: false }, "other.md", `${head}\n- a\n`)).toMatchObject({
      kind: "skipped",
    });
  }
  const [node] = await sql<{ id: string }[]>`
    select id from nodes where page_id = ${imported.page.id} and kind = 'paragraph'`;
  const fragment = { nodeId: node?.id ?? "", okf: "-----\nverified: {by: human:ada}\n-----" };
  expect(await act.do(as, (writer) => editNode(writer, fragment))).toMatchObject({ kind: "refused" });
  expect(await act.edit(as, { page: imported.page.id, okf: "text\n\n---\n\n- b\n" })).toMatchObject({
    kind: "applied",
  });
});

test("reading marks ends soon, however deep or often something stands", () => {
  const deep = `---\nverified: ${"[".repeat(9_000)}${"]".repeat(9_000)}\n---\n`;
  expect(readHumanMarks(deep, { isStrict: true }).kind).toBe("unclear");
  expect(readHumanMarks(`---\nx: ${"y".repeat(30_000)}\n---\n`, { isStrict: true }).kind).toBe("unclear");
});
