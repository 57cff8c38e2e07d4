import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { describe, expect, test } from "vitest";
import { appendBullet } from "./append-bullet.ts";
import { editNode } from "./edit-node.ts";
import { exportPages, listExportPaths } from "./export-pages.ts";
import { type FileState, stateOf } from "./file-bases.ts";
import { removeNode } from "./remove-node.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

/** A folder with one file. */
interface Folder {
  text: string;
  /** What is noted of it where it was exported to. */
  from?: FileState;
  /** What is noted stays at the last export, as in a Git repository that is only read by an import. */
  readonly isGit?: boolean;
}

async function exportTo(me: Person, folder: Folder): Promise<void> {
  const [file] = await act.do(me, async (reader) => await exportPages(reader, await listExportPaths(reader, {})));
  if (file === undefined) throw new Error("there is no page");
  folder.text = file.text;
  folder.from = { ...file.from, orLater: folder.isGit === true };
}

async function importFrom(me: Person, folder: Folder): Promise<string> {
  const { text, from, isGit } = folder;
  const done = await act.importFile(me, "a.md", text, from);
  if (done.kind === "conflict" || done.kind === "skipped") return `${done.kind}: ${done.reason}`;
  if (from !== undefined && isGit !== true) folder.from = done.from;
  return done.kind;
}

async function givenPage(text = "---\ntype: N\n---\n- one\n- two\n") {
  const me = await newWorkspace(sql);
  const done = await act.importFile(me, "a.md", text);
  if (done.kind !== "imported") throw new Error(done.kind);
  return { me, id: done.page.id };
}

async function append(me: Person, page: string, text: string): Promise<string> {
  const done = await act.do(me, (writer) => appendBullet(writer, { page, text }));
  if (done.kind !== "appended") throw new Error(done.kind);
  return done.nodeId;
}

describe.each([[false], [true]])("a page that was imported, changed here and exported (to Git: %s)", (isGit) => {
  test("has a line of here changed where its file changes it, and removed where its file removes it", async () => {
    const { me, id } = await givenPage();
    await append(me, id, "the meeting is at noon");
    const folder: Folder = { text: "", isGit };
    await exportTo(me, folder);
    folder.text = folder.text.replace("noon", "three");
    expect(await importFrom(me, folder)).toBe("updated");
    expect(await act.outline(me, id)).toBe("- one\n- two\n- the meeting is at three\n");
    folder.text = folder.text.replace("- the meeting is at three\n", "");
    expect(await importFrom(me, folder)).toBe("updated");
    expect(await act.outline(me, id)).toBe("- one\n- two\n");
  });

  test("takes what its file makes of a line that was changed here", async () => {
    const { me, id } = await givenPage();
    const [one = ""] = await act.ids(me, id);
    await act.do(me, (writer) => editNode(writer, { nodeId: one, okf: "- one is here" }));
    const folder: Folder = { text: "", isGit };
    await exportTo(me, folder);
    folder.text = folder.text.replace("one is here", "one is there");
    expect(await importFrom(me, folder)).toBe("updated");
    expect(await act.outline(me, id)).toBe("- one is there\n- two\n");
  });

  test("does not get back what was removed here since, or what was changed", async () => {
    const { me, id } = await givenPage();
    const [noon, late] = [await append(me, id, "the meeting is at noon"), await append(me, id, "it will be late")];
    const folder: Folder = { text: "", isGit };
    await exportTo(me, folder);
    await act.do(me, (writer) => removeNode(writer, noon));
    await act.do(me, (writer) => editNode(writer, { nodeId: late, okf: "- it was late" }));
    folder.text = folder.text.replace("- two", "- two!");
    expect(await importFrom(me, folder)).toBe("updated");
    expect(await act.outline(me, id)).toBe("- one\n- two!\n- it was late\n");
    expect(await importFrom(me, folder)).toBe("unchanged");
    expect(await act.outline(me, id)).toBe("- one\n- two!\n- it was late\n");
  });
});

describe("without a note of its folder", () => {
  test("a file that says what a merged import made of its page brings nothing back", async () => {
    const { me, id } = await givenPage();
    const added = await append(me, id, "the meeting is at noon");
    await act.importFile(me, "a.md", "---\ntype: N\n---\n- one\n- two!\n");
    const folder: Folder = { text: "" };
    await exportTo(me, folder);
    await act.do(me, (writer) => editNode(writer, { nodeId: added, okf: "- the meeting is at three" }));
    expect(await act.importFile(me, "a.md", folder.text)).toMatchObject({ kind: "unchanged" });
    expect(await act.outline(me, id)).toBe("- one\n- two!\n- the meeting is at three\n");
  });

  test("a file that is nearer to a later revision than to what was imported is compared with that one", async () => {
    const { me, id } = await givenPage();
    const added = await append(me, id, "the meeting is at noon");
    const folder: Folder = { text: "" };
    await exportTo(me, folder);
    await act.do(me, (writer) => removeNode(writer, added));
    const text = folder.text.replace("- two", "- two!");
    expect(await act.importFile(me, "a.md", text)).toMatchObject({
      kind: "updated",
      warnings: [expect.stringContaining("nearest to what the page said at revision 2")],
    });
    expect(await act.outline(me, id)).toBe("- one\n- two!\n");
  });

  test("a file that was imported, and never written out, keeps a line of its own beside one of here", async () => {
    const { me, id } = await givenPage();
    await append(me, id, "added here");
    await exportTo(me, { text: "" });
    expect(await act.importFile(me, "a.md", "---\ntype: N\n---\n- one\n- two\n- of the file\n")).toMatchObject({
      kind: "updated",
    });
    expect((await act.outline(me, id)).split("\n").toSorted()).toEqual(
      ["", "- added here", "- of the file", "- one", "- two"].toSorted(),
    );
  });

  test("a file whose change was made here too is what its page is compared with from then on", async () => {
    const { me, id } = await givenPage();
    const [, two = ""] = await act.ids(me, id);
    await append(me, id, "three");
    await act.do(me, (writer) => editNode(writer, { nodeId: two, okf: "- TWO" }));
    const text = "---\ntype: N\n---\n- one\n- TWO\n";
    expect(await act.importFile(me, "a.md", text)).toMatchObject({ kind: "unchanged" });
    await act.do(me, (writer) => editNode(writer, { nodeId: two, okf: "- too" }));
    expect(await act.importFile(me, "a.md", text)).toMatchObject({ kind: "unchanged" });
    expect(await act.outline(me, id)).toBe("- one\n- too\n- three\n");
  });
});

test("a file that was merged, by an import that noted nothing in its folder, is not merged again", async () => {
  const { me, id } = await givenPage();
  const folder: Folder = { text: "" };
  await exportTo(me, folder);
  const [, two = ""] = await act.ids(me, id);
  await append(me, id, "here");
  folder.text = folder.text.replace("- two", "- two!");
  const { from } = folder;
  expect(await importFrom(me, folder)).toBe("updated");
  await act.do(me, (writer) => editNode(writer, { nodeId: two, okf: "- too" }));
  Object.assign(folder, { from });
  expect(await importFrom(me, folder)).toBe("unchanged");
  expect(await act.outline(me, id)).toBe("- one\n- too\n- here\n");
});

test("a note that belongs to nothing of the page is as none", async () => {
  const { me, id } = await givenPage();
  await append(me, id, "here");
  const from = stateOf("another", 2);
  expect(await act.importFile(me, "a.md", "---\ntype: N\n---\n- one\n- two!\n", from)).toMatchObject({
    kind: "updated",
  });
  expect(await act.outline(me, id)).toBe("- one\n- two!\n- here\n");
});

/** A number from 0 to 1 each time, the same for the same seed. */
function randomBy(seed: number): () => number {
  let state = seed * 7919;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 0x8000_0000;
    return state / 0x8000_0000;
  };
}

/**
 * A person here and each folder change lines of their own only, in whatever order they change, export and import. So at
 * the end the page has of each the lines that it has itself, and no other.
 */
async function interleave(seed: number, folders: readonly Folder[], mayExport: boolean) {
  const random = randomBy(seed);
  const among = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  let count = 0;
  const word = (owner: string): string => {
    count += 1;
    return `- ${owner}${count} ${Math.floor(random() * 1e9).toString(36)} ${Math.floor(random() * 1e9).toString(36)}`;
  };
  const log: string[] = [];
  const first = ["---", "type: N", "---", ...Array.from({ length: 4 }, () => word("f0"))];
  const { me, id } = await givenPage(`${first.join("\n")}\n`);
  const own = new Map([["p", new Set<string>()]]);
  folders.forEach((folder, n) => {
    folder.text = `${first.join("\n")}\n`;
    own.set(`f${n}`, new Set(n === 0 ? first.slice(3) : []));
  });

  function note(owner: string, old: string | undefined, wanted: string | undefined): void {
    if (old !== undefined) own.get(owner)?.delete(old);
    if (wanted !== undefined) own.get(owner)?.add(wanted);
    log.push(`${owner}: ${old} -> ${wanted}`);
  }

  async function changeHere(): Promise<void> {
    const nodes = await sql<{ id: string; text: string }[]>`
      select id, text from nodes where page_id = ${id} and text like 'p%' order by id`;
    const node = among(nodes);
    const dice = random();
    if (node === undefined || dice < 0.5) {
      const line = word("p");
      await append(me, id, line.slice(2));
      note("p", undefined, line);
    } else if (dice < 0.8) {
      const line = word("p");
      await act.do(me, (writer) => editNode(writer, { nodeId: node.id, okf: line }));
      note("p", `- ${node.text}`, line);
    } else {
      await act.do(me, (writer) => removeNode(writer, node.id));
      note("p", `- ${node.text}`, undefined);
    }
  }

  function changeFile(n: number, folder: Folder): void {
    const lines = folder.text.trimEnd().split("\n");
    const old = among(lines.filter((line) => line.startsWith(`- f${n}`)));
    const dice = random();
    const wanted = old !== undefined && dice > 0.8 ? undefined : word(`f${n}`);
    const isChange = old !== undefined && dice > 0.4;
    const at = old === undefined ? lines.length : lines.indexOf(old);
    lines.splice(at, isChange ? 1 : 0, ...(wanted === undefined ? [] : [wanted]));
    folder.text = `${lines.join("\n")}\n`;
    note(`f${n}`, isChange ? old : undefined, wanted);
  }

  async function take(n: number, folder: Folder): Promise<void> {
    const came = await importFrom(me, folder);
    log.push(`import of f${n}: ${came}`);
    expect(came, log.join("\n")).toMatch(/^(?:updated|unchanged)$/);
  }

  if (mayExport) for (const folder of folders) await exportTo(me, folder);
  for (let step = 0; step < 20; step += 1) {
    const dice = random();
    const n = Math.floor(random() * folders.length);
    const folder = folders[n] ?? { text: "" };
    if (dice < 0.35) await changeHere();
    else if (dice < 0.6) changeFile(n, folder);
    else if (dice < 0.8 || !mayExport) await take(n, folder);
    else {
      await take(n, folder);
      await exportTo(me, folder);
      log.push(`export to f${n}`);
    }
  }
  for (const [n, folder] of folders.entries()) await take(n, folder);
  const lines = (await act.text(me, id)).split("\n").filter((line) => line.startsWith("- "));
  expect(lines.toSorted(), log.join("\n")).toEqual([...own.values()].flatMap((set) => [...set]).toSorted());
}

const seeds = Array.from({ length: 8 }, (_, n) => n + 1);

describe("whatever is changed here and in a file, exported and imported, in whatever order, each line is there once", () => {
  test.each(seeds)("with one folder (%i)", async (seed) => {
    await interleave(seed, [{ text: "" }], true);
  });

  test.each(seeds)("with two folders of one file (%i)", async (seed) => {
    await interleave(seed, [{ text: "" }, { text: "" }], true);
  });

  test.each(seeds)("with a Git repository (%i)", async (seed) => {
    await interleave(seed, [{ text: "", isGit: true }], true);
  });

  test.each(seeds)("with a folder that nothing is exported to (%i)", async (seed) => {
    await interleave(seed, [{ text: "" }], false);
  });
});
