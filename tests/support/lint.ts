import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repositoryRoot } from "./repository.ts";

interface Finding {
  readonly filename: string;
  readonly code: string;
  readonly message: string;
}

/** What the linter finds in `paths` of `folder`, with the configuration that lies there. */
function lint(folder: string, paths: readonly string[]): readonly Finding[] {
  const oxlint = join(repositoryRoot, "node_modules/oxlint/bin/oxlint");
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, "--format=json", ...paths], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!stdout.startsWith("{")) throw new Error(`oxlint could not run in ${folder}: ${stdout}${stderr}`);
  return (JSON.parse(stdout) as { diagnostics: Finding[] }).diagnostics;
}

/**
 * What the linter finds in `files` (path → text) when they stand in a tree of their own beside the repository's
 * configuration and packages. Nothing of the tree is left.
 */
export function lintPlanted(files: ReadonlyMap<string, string>): readonly Finding[] {
  const folder = mkdtempSync(join(tmpdir(), "countersign-house-"));
  try {
    for (const name of [".oxlintrc.json", "tsconfig.json"])
      copyFileSync(join(repositoryRoot, name), join(folder, name));
    symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return lint(folder, ["apps", "packages", "tests"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
