import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findExportTarget } from "./export-target.ts";

const folder = await mkdtemp(join(tmpdir(), "countersign-target-"));
afterAll(() => rm(folder, { recursive: true }));
await mkdir(join(folder, ".git"));
await symlink(".git", join(folder, "notes"));
await writeFile(join(folder, "real.md"), "");
await symlink("real.md", join(folder, "linked.md"));

test.each(["a.md", "a/b c/x.md", "real.md", "con.md", "What?.md", "👩‍💻.md"])("%j is written", async (path) => {
  expect(await findExportTarget(folder, path, "linux")).toBe(join(folder, path));
});

test.each([
  [".git/config"],
  ["a/.git/hooks/x.md"],
  [".GIT/x.md"],
  ["\u200c.git/x.md"],
  ["GIT~1/x.md"],
  ["../x.md"],
  ["a/../../x.md"],
  ["/etc/x.md"],
  ["a\\..\\x.md"],
  ["notes/config"],
  ["linked.md"],
])("%j is not written", async (path) => {
  await expect(findExportTarget(folder, path, "linux")).rejects.toThrow("was not written");
});

test.each(["con.md", "NUL", "a/com1.txt.md", "a:b.md", "a./x.md"])("%j is not written on Windows", async (path) => {
  await expect(findExportTarget(folder, path, "win32")).rejects.toThrow("Windows");
});
