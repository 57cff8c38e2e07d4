import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";

const { sql, url } = await testDatabase();
const { data, address, run } = await givenCommandLine(url);
const tokens: Record<string, string> = {};
let folders = 0;

beforeEach(async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  for (const role of ["admin", "viewer"] as const) {
    const { workspaceId } = world;
    tokens[role] = (await createToken(sql, { workspaceId, userId: world[role], label: role, mayDecide: true })).token;
  }
});

async function cli(args: readonly string[], as = "admin") {
  return await run(tokens[as] ?? "", args);
}

async function folderWith(files: Record<string, string | Buffer>): Promise<string> {
  const folder = join(data, `folder-${(folders += 1)}`);
  await mkdir(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

function git(folder: string, ...args: string[]): string {
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
  return execFileSync("git", ["-C", folder, ...author, ...args], { encoding: "utf8" });
}

const files = {
  "One.md": "---\ntype: Page\ntitle: One\n---\n\n- first, see [[Two]]\n\t- tabbed\n",
  "deep/er/Two.md": "\uFEFF- crlf\r\n- more\r\n",
  "odd name %3F.md": "no final newline",
};

test("a folder is imported, comes back byte for byte, and is the same when it is imported again", async () => {
  const folder = await folderWith({ ...files, "latin1.md": Buffer.from([0xe9]) });
  const imported = await cli(["kb", "import", folder]);
  expect(imported).toMatchObject({ code: 0 });
  expect(imported.out).toContain("3 pages new, 0 changed, 0 as they were, with 5 nodes; 0 in conflict, 1 left out.");
  expect(imported.out).toContain("latin1.md: it is not UTF-8 text");
  const out = join(data, `out-${(folders += 1)}`);
  expect((await cli(["kb", "export", out])).code).toBe(0);
  for (const [path, text] of Object.entries(files)) expect(await readFile(join(out, path), "utf8"), path).toBe(text);
  expect((await cli(["kb", "import", out])).out).toContain("0 pages new, 0 changed, 3 as they were");
  expect((await cli(["kb", "read", "one"])).out).toContain("- first, see [[Two]]\n");
  expect((await cli(["kb", "search", "tabbed"])).out).toContain("One: tabbed");
  expect((await cli(["kb", "import", folder], "viewer")).code).toBe(3);
});

test("a repository is pulled and merged, and what changed here goes back as a commit", async () => {
  const work = await folderWith({ "a.md": "- a\n- b\n- c\n" });
  const bare = join(data, `bare-${(folders += 1)}.git`);
  await mkdir(bare);
  git(bare, "init", "--quiet", "--bare", "--initial-branch=main");
  git(work, "init", "--quiet", "--initial-branch=main");
  git(work, "add", "--all");
  git(work, "commit", "--quiet", "--message", "first");
  git(work, "push", "--quiet", bare, "main");
  expect((await cli(["kb", "import", bare, "--git"])).out).toContain("1 pages new");

  const page = JSON.parse((await cli(["kb", "read", "a", "--json"])).out) as { id: string };
  await fetch(`${address}/v1/pages/${page.id}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${tokens["admin"]}`, "content-type": "application/json", "if-match": '"1"' },
    body: JSON.stringify({ okf: "- a\n- b\n- c, changed here\n" }),
  });
  await writeFile(join(work, "a.md"), "- a, changed there\n- b\n- c\n");
  git(work, "commit", "--quiet", "--all", "--message", "second");
  git(work, "push", "--quiet", bare, "main");
  expect((await cli(["kb", "import", bare, "--git"])).out).toContain("1 changed");

  expect((await cli(["kb", "export", bare, "--git", "--message", "From here"])).out).toContain("went as a commit");
  expect(git(bare, "show", "main:a.md")).toBe("- a, changed there\n- b\n- c, changed here\n");
  expect(git(bare, "log", "-1", "--format=%s", "main")).toBe("From here\n");
  expect((await cli(["kb", "export", bare, "--git"])).out).toContain("1 file is the same already");
  expect((await cli(["kb", "import", bare, "--git"])).out).toContain("1 as they were");
  expect((await cli(["kb", "import", "ext::sh -c true", "--git"])).code).toBe(1);
});

test("a page is read as its file is, whatever in it looks like an id", async () => {
  const id = "01a22db5-a3d6-733a-8cda-35a12f2cf109";
  const text = `- see \`<!--${id}-->\` in code\n- \`\`\`\n  <!--${id}-->\n  \`\`\`\n- | a |\n  |---|\n-   \n- last\n`;
  await cli(["kb", "import", await folderWith({ "looks.md": text })]);
  expect((await cli(["kb", "read", "looks"])).out).toBe(text);
  const withIds = (await cli(["kb", "read", "looks", "--ids"])).out;
  expect(withIds.match(/<!--[0-9a-f-]{36}-->/g)).toHaveLength(7);
});

test("a change is listed with who made it, and taken back", async () => {
  const folder = await folderWith({ "a.md": "- a\n" });
  await cli(["kb", "import", folder]);
  await writeFile(join(folder, "a.md"), "- changed\n");
  await cli(["kb", "import", folder]);
  const commands = JSON.parse((await cli(["kb", "history", "a", "--json"])).out) as { id: string; kind: string }[];
  expect(commands.map(({ kind }) => kind)).toEqual(["page.imported", "page.imported"]);
  expect((await cli(["kb", "undo", commands[0]?.id.slice(-8) ?? ""])).out).toContain("It is taken back");
  expect((await cli(["kb", "read", "a"])).out).toContain("- a\n");
  expect((await cli(["kb", "undo", commands[0]?.id ?? ""])).code).toBe(4);
  expect((await cli(["kb", "history"])).out).toContain("taken back");
});

test("an import names what it left out, and refuses what is no folder without a trace of the program's own", async () => {
  const folder = await folderWith({ "kept.md": "- kept\n", "picture.png": "x", ".hidden.md": "- no\n" });
  const imported = await cli(["kb", "import", folder, "--dir", "left-out"]);
  expect(imported).toMatchObject({ code: 0 });
  expect(imported.out).toContain("1 pages new, 0 changed, 0 as they were, with 1 nodes; 0 in conflict, 2 left out.");
  expect(imported.out).toContain("Not Markdown, hidden or a link: .hidden.md, picture.png");

  const nowhere = await cli(["kb", "import", join(folder, "nowhere")]);
  expect(nowhere).toMatchObject({ code: 2, error: expect.stringContaining("nowhere is no folder that can be read") });
  const file = await cli(["kb", "import", join(folder, "kept.md")]);
  expect(file).toMatchObject({ code: 2, error: expect.stringContaining(`./countersign kb import ${folder}`) });
  for (const { error } of [nowhere, file]) expect(error).not.toMatch(/^ +at /m);

  const exported = await cli(["kb", "export", join(folder, "out"), "--dir", "nosuch"]);
  expect(exported).toMatchObject({ code: 1, out: "", error: expect.stringContaining('the directory "nosuch"') });
});

test("a conflict shows what both sides say and what to do", async () => {
  const folder = await folderWith({ "clash.md": "- one\n- two\n" });
  await cli(["kb", "import", folder]);
  const page = JSON.parse((await cli(["kb", "read", "clash", "--json"])).out) as { id: string };
  await fetch(`${address}/v1/pages/${page.id}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${tokens["admin"]}`, "content-type": "application/json", "if-match": '"1"' },
    body: JSON.stringify({ okf: "- one, says a person\n- two\n" }),
  });
  await writeFile(join(folder, "clash.md"), "- one, says the file\n- two\n");
  const clashed = await cli(["kb", "import", folder]);
  expect(clashed.code).toBe(4);
  expect(clashed.out).toMatch(/the page has one, says a person\n.*the file has one, says the file\n/);
  expect(clashed.out).toContain(`./countersign kb read ${page.id}, change clash.md or the page, then import again`);
  expect(clashed.out).toContain("1 in conflict");
  await writeFile(join(folder, "clash.md"), "- one, says a person\n- two\n");
  expect(await cli(["kb", "import", folder])).toMatchObject({ code: 0 });
});

test("a hit says where its page lies and gives the id that read takes", async () => {
  const folder = await folderWith({ "deep/er/Needle.md": "- a needle\n" });
  await cli(["kb", "import", folder]);
  const { out } = await cli(["kb", "search", "needle"]);
  const id = /^ {2}in deep\/er, ([0-9a-f-]{36})$/m.exec(out)?.[1] ?? "";
  expect((await cli(["kb", "read", id])).out).toContain("- a needle");
});

test("pages are listed, all of them or those of a directory, and that there are more is said", async () => {
  await cli(["kb", "import", await folderWith(files)]);
  const all = (await cli(["kb", "ls"])).out;
  for (const part of ["One", "Two", "deep/er", "odd name ?"]) expect(all).toContain(part);
  const some = (await cli(["kb", "ls", "deep/er"])).out;
  expect(some).toContain("Two");
  expect(some).not.toContain("One");
  expect((await cli(["kb", "ls", "--limit", "1"])).out).toContain("There are more");
  expect((await cli(["kb", "ls", "nowhere"])).out).toContain("There is no page here");
});
