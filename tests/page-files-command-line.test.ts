import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { afterAll, beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const { data, address, run } = await givenCommandLine(url);
const limit = { timeout: 120_000 };
let token = "";
let workspace = "";
let folders = 0;

beforeEach(async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  const { workspaceId, admin: userId } = world;
  workspace = workspaceId;
  token = (await createToken(sql, { workspaceId, userId, label: "admin", mayDecide: true })).token;
});

const cli = (...args: readonly string[]) => run(token, args);

async function v1<T>(method: string, path: string, body: object, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(`${address}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
  return (await response.json()) as T;
}

/** Pages as an import makes them, under names that no folder might have. */
async function importPages(files: Record<string, string>): Promise<Record<string, string>> {
  const sent = Object.entries(files).map(([path, text]) => ({ path, text }));
  const done = await v1<{ files: { path: string; pageId: string }[] }>("POST", "/import", { files: sent });
  return Object.fromEntries(done.files.map(({ path, pageId }) => [path, pageId]));
}

async function newFolder(files: Record<string, string> = {}): Promise<string> {
  const folder = join(data, `folder-${(folders += 1)}`);
  await mkdir(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

function git(folder: string, ...args: string[]): string {
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"];
  return execFileSync("git", ["-C", folder, ...author, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A bare repository with what is in the folder as its first commit, and the folder as its clone. */
async function newRepository(work: string): Promise<string> {
  const bare = await newFolder();
  git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
  git(work, "init", "--quiet", "--initial-branch=main");
  git(work, "add", "--all");
  git(work, "commit", "--quiet", "--message", "first");
  git(work, "push", "--quiet", bare, "main");
  return bare;
}

test("pages whose titles are too long for a file's name are exported all the same", limit, async () => {
  await v1("POST", "/pages", { title: "长".repeat(95), okf: "- long\n" });
  await v1("POST", "/pages", { title: "长".repeat(95).replace(/长$/, "短"), okf: "- long too\n" });
  await v1("POST", "/pages", { title: "Short", okf: "- short\n" });
  // As a page is that was made when names were cut by characters.
  await sql`update pages set slug = repeat('长', 95) where workspace_id = ${workspace} and title like '长%'`;
  const out = await newFolder();
  const exported = await cli("kb", "export", out);
  expect(exported).toMatchObject({ code: 0, error: "", out: expect.stringContaining("3 files are written") });
  const names = (await readdir(out)).filter((name) => name.endsWith(".md"));
  expect(names).toHaveLength(3);
  const texts = await Promise.all(names.map((name) => readFile(join(out, name), "utf8")));
  expect(["- long\n", "- long too\n", "- short\n"].every((own) => texts.some((text) => text.endsWith(own)))).toBe(true);
});

test("whatever keeps one file from being written, the others are, and the end says which and why", limit, async () => {
  await importPages({ "a.md": "- a\n", "dir.md": "- dir\n", "file/b.md": "- b\n", "l/c.md": "- c\n", "z.md": "- z\n" });
  const outside = await newFolder();
  const out = await newFolder({ "dir.md/in.txt": "", file: "" });
  await symlink(outside, join(out, "l"));
  const exported = await cli("kb", "export", out);
  expect(exported).toMatchObject({ code: 1, error: "" });
  expect(exported.out).toMatch(/not written {2}dir\.md: a folder of its name is there/);
  expect(exported.out).toMatch(/not written {2}file\/b\.md: a file stands where its folder would be/);
  expect(exported.out).toMatch(/not written {2}l\/c\.md: it is a link or behind one/);
  expect(exported.out).toContain("✘ 2 files are written");
  expect(exported.out).toContain("; 3 files are not written, as said above.");
  expect(await readFile(join(out, "z.md"), "utf8")).toBe("- z\n");
  expect(await readdir(outside)).toEqual([]);
  const json = await cli("kb", "export", out, "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.out)).toMatchObject({ files: 2, notWritten: [{ path: "dir.md" }, {}, {}] });
  const nowhere = await cli("kb", "export", join(out, "z.md"));
  expect(nowhere).toMatchObject({
    code: 1,
    error: expect.stringMatching(/z\.md is no folder.*Nothing was written\.\n$/),
  });
});

test("a repository's links and submodules are left out, and no page is written to one or below", limit, async () => {
  const other = await newRepository(await newFolder({ "inner.md": "- inner\n" }));
  const work = await newFolder({ "real/page.md": "- page\n" });
  await symlink("/etc/hostname", join(work, "link.md"));
  await symlink("real", join(work, "linked"));
  git(work, "init", "--quiet", "--initial-branch=main");
  git(work, "submodule", "--quiet", "add", other, "sub");
  const bare = await newRepository(work);
  const imported = await cli("kb", "import", bare, "--git");
  expect(imported).toMatchObject({ code: 0, out: expect.stringContaining("1 pages new") });
  expect(imported.out).toContain("Not Markdown, hidden or a link: .gitmodules, link.md, linked");

  await importPages({
    "link.md": "/etc/ssh/keys",
    "linked/x.md": "- x\n",
    "sub/y.md": "- y\n",
    "ok.md": "- ok\n",
  });
  const before = git(bare, "ls-tree", "-r", "main");
  const exported = await cli("kb", "export", bare, "--git");
  expect(exported).toMatchObject({ code: 1, error: "" });
  for (const path of ["link.md", "linked/x.md", "sub/y.md"])
    expect(exported.out).toContain(`not written  ${path}: it is a link or a submodule of the repository, or in one`);
  expect(exported.out).toContain("1 file went as a commit");
  const after = git(bare, "ls-tree", "-r", "main");
  expect(after.split("\n").filter((line) => !before.includes(line))).toEqual([
    expect.stringMatching(/^100644 .*\t\.countersign\.json$/),
    expect.stringMatching(/^100644 .*\tok\.md$/),
  ]);
  expect(before.split("\n").filter((line) => !after.includes(line))).toEqual([]);
});

/** What a page says without its frontmatter, as it is written out now. */
async function outlineOf(path: string): Promise<string> {
  const out = await newFolder();
  await cli("kb", "export", out);
  return (await readFile(join(out, path), "utf8")).replace(/^---\n[\s\S]*?\n---\n+/, "");
}

test(
  "what is changed in an exported folder is compared with the export, though others came between",
  limit,
  async () => {
    const pages = await importPages({ "a.md": "- one\n- two\n" });
    const write = (okf: string, revision: number) =>
      v1("PUT", `/pages/${pages["a.md"]}`, { okf }, { "if-match": `"${revision}"` });
    await write("- one\n- two\n- the meeting is at noon\n", 1);
    const out = await newFolder();
    await cli("kb", "export", out);
    const file = join(out, "a.md");
    await write("- one\n- two\n- the meeting is at noon\n- added since\n", 2);
    await cli("kb", "export", await newFolder());
    await importPages({ "a.md": "- one\n- two!\n" });
    await writeFile(file, (await readFile(file, "utf8")).replace("noon", "three"));
    expect(await cli("kb", "import", out)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/ 1 changed.*0 left out\.$/m),
    });
    expect(await outlineOf("a.md")).toBe("- one\n- two!\n- the meeting is at three\n- added since\n");
    await writeFile(file, (await readFile(file, "utf8")).replace("- the meeting is at three\n", ""));
    expect(await cli("kb", "import", out)).toMatchObject({ code: 0, out: expect.stringContaining(" 1 changed") });
    expect(await outlineOf("a.md")).toBe("- one\n- two!\n- added since\n");
  },
);

test("what is changed in a repository is compared with the last export to it, or import from it", limit, async () => {
  const pages = await importPages({ "a.md": "- one\n- two\n" });
  const okf = "- one\n- two\n- the meeting is at noon\n";
  await v1("PUT", `/pages/${pages["a.md"]}`, { okf }, { "if-match": '"1"' });
  const bare = await newRepository(await newFolder({ "a.md": "- one\n- two\n" }));
  expect((await cli("kb", "export", bare, "--git")).out).toContain("1 file went as a commit");
  const work = await newFolder();
  for (const [from, to] of [
    ["- the meeting is at noon\n", ""],
    ["- two\n", "- two\n- three\n"],
    ["- three\n", ""],
  ] as const) {
    git(work, "clone", "--quiet", bare, "clone");
    const clone = join(work, "clone");
    const text = (await readFile(join(clone, "a.md"), "utf8")).replace(from, to);
    await writeFile(join(clone, "a.md"), text);
    git(clone, "commit", "--quiet", "--all", "--message", "changed");
    git(clone, "push", "--quiet", "origin", "HEAD");
    await rm(clone, { recursive: true });
    expect(await cli("kb", "import", bare, "--git")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/ 1 changed.*0 left out\.$/m),
    });
    expect(await outlineOf("a.md")).toBe(text);
  }
});

test(
  "a file of a repository that this file system does not take is named, and the others are there",
  limit,
  async () => {
    const work = await newFolder({ "a.md": "- a\n", "z.md": "- z\n" });
    git(work, "init", "--quiet", "--initial-branch=main");
    const blob = git(work, "hash-object", "-w", "a.md").trim();
    git(work, "add", "--all");
    git(work, "update-index", "--add", "--cacheinfo", `100644,${blob},${"n".repeat(300)}.md`);
    git(work, "commit", "--quiet", "--message", "first");
    const bare = await newFolder();
    git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
    git(work, "push", "--quiet", bare, "main");
    const imported = await cli("kb", "import", bare, "--git");
    expect(imported).toMatchObject({ code: 1, error: expect.stringContaining("Git could not write some files") });
    expect(imported.out).toMatch(/skipped {2}n{300}\.md: git could not write it/);
    expect(imported.out).toContain("2 pages new, 0 changed, 0 as they were, with 2 nodes; 0 in conflict, 1 left out.");
    await importPages({ "new.md": "- new\n" });
    expect(await cli("kb", "export", bare, "--git")).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 file went"),
    });
    expect(git(bare, "ls-tree", "-r", "--name-only", "main").split("\n")).toHaveLength(6);
  },
);

test("a folder's links are left out of an import", limit, async () => {
  const outside = await newFolder({ "secret.md": "- secret\n" });
  const folder = await newFolder({ "a.md": "- a\n" });
  await symlink(join(outside, "secret.md"), join(folder, "link.md"));
  await symlink(outside, join(folder, "linked"));
  const imported = await cli("kb", "import", folder);
  expect(imported).toMatchObject({ code: 0, out: expect.stringContaining("1 pages new") });
  expect(imported.out).toContain("Not Markdown, hidden or a link: link.md, linked");
  expect((await cli("kb", "search", "secret")).out).not.toContain("- secret");
});

test(
  "pages that a repository ignores are in the commit too, and what is told is what the commit has",
  limit,
  async () => {
    await importPages({ "a.md": "- a\n", "drafts/b.md": "- b\n", "c.md": "- c\n", "*.md": "- star\n" });
    const bare = await newRepository(
      await newFolder({ ".gitignore": "drafts/\nc.md\n", "a.md": "- a\n", "own.md": "x\n" }),
    );
    const json = JSON.parse((await cli("kb", "export", bare, "--git", "--json")).out) as object;
    expect(json).toEqual({ files: 4, changed: 3, isCommitted: true, notWritten: [] });
    const changed = git(bare, "-c", "core.quotePath=false", "diff", "--name-only", "main~1", "main");
    expect(changed.trim().split("\n")).toEqual(["*.md", ".countersign.json", "c.md", "drafts/b.md"]);
    await importPages({ "new.md": "- new\n" });
    expect((await cli("kb", "export", bare, "--git")).out).toMatch(
      /^✔ 1 file went as a commit to .*; 4 files are the same already\.$/m,
    );
    expect((await cli("kb", "export", bare, "--git")).out).toContain("✔ 5 files are the same already in ");
  },
);

test("pages go into a repository that has no commit yet", limit, async () => {
  await importPages({ "a.md": "- a\n", "b/c.md": "- c\n" });
  const bare = await newFolder();
  git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
  expect((await cli("kb", "export", bare, "--git")).out).toContain("2 files went as a commit");
  expect(git(bare, "ls-tree", "-r", "--name-only", "main")).toBe(".countersign.json\na.md\nb/c.md\n");
});

test(
  "names that are no text and paths that are too long are skipped and named, the others imported",
  limit,
  async () => {
    const long = `${"d".repeat(250)}/`.repeat(3);
    const folder = await newFolder({ "a.md": "- a\n", "z.md": "- z\n", [`${long}deep.md`]: "- deep\n" });
    const odd = (...parts: (string | number)[]) =>
      Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));
    await writeFile(odd(`${folder}/caf`, 0xe9, ".md"), "- latin\n");
    await mkdir(odd(`${folder}/d`, 0xff));
    await writeFile(odd(`${folder}/d`, 0xff, "/x.md"), "- below\n");
    const imported = await cli("kb", "import", folder);
    expect(imported).toMatchObject({ code: 0, error: "" });
    expect(imported.out).toContain("skipped  caf\\xE9.md: its name is not UTF-8");
    expect(imported.out).toContain("skipped  d\\xFF/x.md: its name is not UTF-8");
    expect(imported.out).toMatch(/skipped {2}d+\/.*deep\.md: its path has 760 characters; at most 600 are kept/);
    expect(imported.out).toContain("2 pages new, 0 changed, 0 as they were, with 2 nodes; 0 in conflict, 3 left out.");
  },
);

/** A server between the command line and the real one, which fails where `isBad` says so of the body. */
async function failingServer(isBad: (body: string) => boolean): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const headers = { "content-type": "application/json", authorization: request.headers.authorization ?? "" };
      const answer = isBad(body)
        ? Promise.resolve(
            Response.json({ code: "internal", detail: "Something failed.", requestId: "r" }, { status: 500 }),
          )
        : fetch(`${address}${request.url ?? ""}`, { method: "POST", headers, body });
      void answer.then(async (one) =>
        response.writeHead(one.status, { "content-type": "application/json" }).end(await one.text()),
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a file at which the server fails is named, and those sent with it are imported", limit, async () => {
  const folder = await newFolder({ "a.md": "- a\n", "bad.md": "- bad\n", "z.md": "- z\n" });
  const at = await failingServer((body) => body.includes("- bad"));
  const env = { COUNTERSIGN_URL: at, COUNTERSIGN_DATA: data, DATABASE_URL: url, COUNTERSIGN_TOKEN: token };
  const imported = await runVerb(env, ["kb", "import", folder]);
  expect(imported).toMatchObject({ code: 1, error: expect.stringContaining("The server failed at some files") });
  expect(imported.out).toContain("skipped  bad.md: the server failed at it: Something failed.");
  expect(imported.out).toContain("2 pages new, 0 changed, 0 as they were, with 2 nodes; 0 in conflict, 1 left out.");
});

test("an import that ends early tells what it did before", limit, async () => {
  const many = Object.fromEntries(
    Array.from({ length: 102 }, (_, n) => [`${String(n).padStart(3, "0")}.md`, `- of ${n}.\n`]),
  );
  const folder = await newFolder(many);
  const at = await failingServer((body) => /of 10[01]\./.test(body));
  const env = { COUNTERSIGN_URL: at, COUNTERSIGN_DATA: data, DATABASE_URL: url, COUNTERSIGN_TOKEN: token };
  const imported = await runVerb(env, ["kb", "import", folder]);
  expect(imported).toMatchObject({ code: 1, error: "Something failed.\n" });
  expect(imported.out).toContain("100 pages new, 0 changed");
  expect(imported.out).toContain(
    "It ended early, and of 2 files nothing is known. Importing again goes on from there.",
  );
  expect((await cli("kb", "import", folder)).out).toContain("2 pages new, 0 changed, 100 as they were");
});
