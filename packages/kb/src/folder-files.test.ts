import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { link, mkdir, mkdtemp, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeEach, expect, test } from "vitest";
import { listFolder, readFolderFile, writeFolderFile } from "./folder-files.ts";

const scratch = await mkdtemp(join(tmpdir(), "countersign-folder-"));
// One of the folders is deeper than a path can say.
afterAll(() => execFileSync("rm", ["-r", scratch]));
let folder = "";
let outside = "";
let count = 0;

beforeEach(async () => {
  folder = join(scratch, `folder-${(count += 1)}`);
  outside = join(scratch, `outside-${count}`);
  await mkdir(folder);
  await mkdir(outside);
  await writeFile(join(outside, "x.md"), "outside");
});

const write = (path: string, text = "written") => writeFolderFile(folder, path.split("/"), text);
const read = (path: string) => readFolderFile(folder, path.split("/"));

test("a file is written and read, new, over another and in folders that were not there", async () => {
  for (const path of ["a.md", "a.md", "deep/er/b.md", "deep/er/b.md"]) {
    expect(await write(path, `\uFEFFof ${path}\r\n`), path).toEqual({ kind: "written" });
    expect(await read(path), path).toEqual({ kind: "read", text: `\uFEFFof ${path}\r\n` });
  }
  await writeFile(join(folder, "long.md"), "much longer than what comes");
  await write("long.md", "short");
  expect(await readFile(join(folder, "long.md"), "utf8")).toBe("short");
});

test("nothing is written or read through a link, of a file or of a folder, and none is replaced", async () => {
  await symlink(outside, join(folder, "dir"));
  await symlink(join(outside, "x.md"), join(folder, "x.md"));
  await symlink(join(outside, "new.md"), join(folder, "dangling.md"));
  for (const path of ["dir/x.md", "dir/new.md", "dir/sub/new.md", "x.md", "dangling.md"]) {
    expect(await write(path), path).toEqual({ kind: "refused", reason: expect.stringContaining("link") });
    expect((await read(path)).kind, path).toBe("unread");
  }
  expect(await readdir(outside)).toEqual(["x.md"]);
  expect(await readFile(join(outside, "x.md"), "utf8")).toBe("outside");
});

test("a folder that is swapped for a link over and over leads no text out or in", async () => {
  await mkdir(join(folder, "swapped"));
  await symlink(outside, join(folder, "link"));
  const swaps = new Worker(
    `const { renameSync, rmSync } = require("node:fs");
     const { workerData: { folder }, parentPort } = require("node:worker_threads");
     const swap = (a, b) => {
       for (;;) {
         try {
           return renameSync(folder + "/" + a, folder + "/" + b);
         } catch {
           // What writes has made the folder anew, while it was away.
           try { rmSync(folder + "/" + b, { recursive: true }); } catch {}
         }
       }
     };
     parentPort.postMessage("ready");
     for (;;) { swap("swapped", "real"); swap("link", "swapped"); swap("swapped", "link"); swap("real", "swapped"); }`,
    { eval: true, workerData: { folder } },
  );
  await once(swaps, "message");
  const kinds = new Set<string>();
  try {
    for (let n = 0; n < 150 || kinds.size < 2; n += 1) {
      kinds.add((await write("swapped/new.md")).kind);
      expect((await read("swapped/x.md")).kind).toBe("unread");
    }
  } finally {
    await swaps.terminate();
  }
  expect(await readdir(outside)).toEqual(["x.md"]);
});

test("a file that has another name elsewhere is parted from it, and stays as it may be run", async () => {
  await writeFile(join(outside, "run.md"), "outside", { mode: 0o755 });
  await link(join(outside, "run.md"), join(folder, "run.md"));
  expect(await write("run.md")).toEqual({ kind: "written" });
  expect(await readFile(join(outside, "run.md"), "utf8")).toBe("outside");
  expect(await readFile(join(folder, "run.md"), "utf8")).toBe("written");
  expect((await stat(join(folder, "run.md"))).mode & 0o777).toBe(0o755);
});

test("whoever stops in the midst of writing leaves the old file whole", async () => {
  const old = "old ".repeat(500_000);
  await writeFile(join(folder, "a.md"), old);
  const writer = new Worker(
    `const { workerData: { module, folder, text }, parentPort } = require("node:worker_threads");
     import(module).then(async ({ writeFolderFile }) => {
       parentPort.postMessage("ready");
       for (;;) await writeFolderFile(folder, ["a.md"], text);
     });`,
    {
      eval: true,
      workerData: { module: new URL("folder-files.ts", import.meta.url).href, folder, text: "new ".repeat(500_000) },
    },
  );
  await once(writer, "message");
  const seen = new Set<string>();
  while (!seen.has("new ")) {
    const text = await readFile(join(folder, "a.md"), "utf8");
    expect(text.length).toBe(old.length);
    seen.add(text.slice(0, 4));
  }
  await writer.terminate();
  expect((await readFile(join(folder, "a.md"), "utf8")).length).toBe(old.length);
  const { files } = await listFolder(folder);
  expect(files.map(({ path }) => path).filter((path) => !/^\.export-.*\.part$/.test(path))).toEqual(["a.md"]);
});

test("a file that may not be written stays, and nothing stays beside it", async () => {
  await mkdir(join(folder, "dir.md"));
  expect((await write("dir.md")).kind).toBe("refused");
  expect((await write(`${"長".repeat(90)}.md`)).kind).toBe("refused");
  expect(await readdir(folder)).toEqual(["dir.md"]);
});

test("what the system does not take is refused with the reason, and nothing waits", async () => {
  await mkdir(join(folder, "dir.md"));
  await writeFile(join(folder, "file"), "");
  execFileSync("sh", ["-c", `mkfifo "$0"`, join(folder, "pipe.md")]);
  expect(await write("dir.md")).toMatchObject({ reason: expect.stringContaining("a folder of its name is there") });
  expect(await write("file/a.md")).toMatchObject({ reason: expect.stringContaining("a file stands where") });
  expect(await write("pipe.md")).toMatchObject({ reason: expect.stringContaining("no regular file") });
  expect(await read("pipe.md")).toMatchObject({ reason: expect.stringContaining("no regular file") });
  expect(await write(`${"长".repeat(90)}.md`)).toMatchObject({ reason: expect.stringContaining("ENAMETOOLONG") });
  expect(await write(`${"长".repeat(90)}/a.md`)).toMatchObject({ reason: expect.stringContaining("ENAMETOOLONG") });
  expect(await read("gone.md")).toEqual({ kind: "unread", reason: "it is gone (ENOENT)" });
});

test("a folder is listed with names that are no text, without .git and without what links lead to", async () => {
  await symlink(outside, join(folder, "linked"));
  await mkdir(join(folder, ".git"));
  await writeFile(join(folder, ".git", "config"), "");
  await mkdir(Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff])]));
  await writeFile(Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff]), Buffer.from("/é.md")]), "in it");
  await writeFile(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9]), Buffer.from(".md")]), "by bytes");
  await writeFile(join(folder, "café.md"), "text");
  const { files, unread } = await listFolder(folder);
  expect(unread).toEqual([]);
  expect(files.map(({ path, nameProblem, isRegular }) => [path, nameProblem !== undefined, isRegular])).toEqual([
    ["caf\\xE9.md", true, true],
    ["café.md", false, true],
    ["d\\xFF/é.md", true, true],
    ["linked", false, false],
  ]);
  const texts = await Promise.all(files.slice(0, 3).map(({ parts }) => readFolderFile(folder, parts)));
  expect(texts.map((one) => one.kind === "read" && one.text)).toEqual(["by bytes", "text", "in it"]);
});

test("a folder that cannot be read is named, and the others are listed", async () => {
  // A name that fits and a path that does not: as deep as the system cannot follow.
  const deep = "d".repeat(200);
  await writeFile(join(folder, "a.md"), "");
  let at = folder;
  await mkdir(join(at, deep));
  at = join(at, deep);
  for (let n = 0; n < 30; n += 1) {
    const next = join(scratch, `part-${n}`);
    await mkdir(next);
    await rename(join(folder, deep), join(next, deep));
    await rename(next, join(folder, deep));
  }
  const { files, unread } = await listFolder(folder);
  expect(files.map(({ path }) => path)).toEqual(["a.md"]);
  expect(unread).toHaveLength(1);
  expect(unread[0]?.reason).toContain("ENAMETOOLONG");
});
