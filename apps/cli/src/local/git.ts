import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CliError } from "../exit.ts";

const run = promisify(execFile);

/**
 * Remote helpers run commands that an address may name; nothing of a repository's own runs either. Its links are plain
 * files in the work tree, and paths are as they are written.
 */
const settings = ["protocol.ext.allow=never", "core.hooksPath=/dev/null", "core.symlinks=false"];
const guards = [...settings.flatMap((setting) => ["-c", setting]), "--literal-pathspecs"];

/** What a page's file is to git: plain, and at most one that may be run. */
const plainModes = new Set(["100644", "100755"]);

async function git(folder: string, args: readonly string[], input = ""): Promise<string> {
  try {
    const running = run("git", ["-C", folder, ...guards, ...args], { maxBuffer: 64 * 2 ** 20 });
    running.child.stdin?.on("error", () => undefined).end(input);
    return (await running).stdout;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new CliError("error", "There is no git on this machine. Install it, or import a folder.");
    }
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new CliError("error", `git ${args[0]} failed: ${said}`, { error });
  }
}

/**
 * Clones the newest state of a repository's branch, its own unless given, into `folder`, which is empty. A file that the
 * file system does not take is not there afterwards, and all others are.
 */
export async function cloneRepository(address: string, folder: string, branch?: string): Promise<void> {
  const of = branch === undefined ? [] : ["--branch", branch];
  const how = ["--quiet", "--no-checkout", "--depth", "1", "--single-branch"];
  await git(folder, ["clone", ...how, ...of, "--", address, "."]);
  const hasCommit = await git(folder, ["rev-parse", "--verify", "--quiet", "HEAD"]).catch(() => "");
  if (hasCommit === "") return;
  await git(folder, ["read-tree", "HEAD"]);
  // It goes on after a file that it cannot write, which `findOdd` tells of.
  await git(folder, ["checkout-index", "--all", "--quiet"]).catch(() => undefined);
}

/** What a clone's work tree does not show as it is. */
export interface OddPaths {
  /** Where the repository has a link or another repository; the work tree may show a plain file. */
  readonly links: ReadonlySet<string>;
  /** Files of the repository that are not in the work tree. */
  readonly missing: readonly string[];
}

/** The paths in a clone at which the work tree is not what the repository has. */
export async function findOdd(folder: string): Promise<OddPaths> {
  const links = new Set<string>();
  for (const entry of (await git(folder, ["ls-files", "--stage", "-z"])).split("\0")) {
    const [, mode = "", path = ""] = /^(\d+) [^\t]*\t(.*)$/s.exec(entry) ?? [];
    if (path !== "" && !plainModes.has(mode)) links.add(path);
  }
  const gone = (await git(folder, ["ls-files", "--deleted", "-z"])).split("\0");
  return { links, missing: gone.filter((path) => path !== "" && !links.has(path)) };
}

/**
 * Commits these files of a clone, also such as its `.gitignore` names, and where one of them changed, those `beside` them;
 * answers how many of `paths` the commit changes, none where the repository has them so already. The author is git's, else
 * Countersign. Throws CliError, and commits nothing, where one would change what is no plain file there.
 */
export async function commitFiles(
  folder: string,
  paths: readonly string[],
  beside: readonly string[],
  message: string,
): Promise<number> {
  await addFiles(folder, paths);
  const fields = (await git(folder, ["diff", "--cached", "--raw", "--no-renames", "-z"])).split("\0");
  const changed = fields.flatMap((field, n) => (n % 2 === 0 && field !== "" ? [[field, fields[n + 1] ?? ""]] : []));
  for (const [change = "", path = ""] of changed) {
    const [before = "", after = ""] = change.replace(/^:/, "").split(" ");
    if ((before !== "000000" && !plainModes.has(before)) || !plainModes.has(after))
      throw new CliError("error", `${JSON.stringify(path)} is no plain file in the repository. Nothing was committed.`);
  }
  if (changed.length === 0) return 0;
  if (beside.length > 0) await addFiles(folder, beside);
  const name = await git(folder, ["config", "user.email"]).catch(() => "");
  const author = name.trim() === "" ? ["-c", "user.name=Countersign", "-c", "user.email=countersign@localhost"] : [];
  await git(folder, [...author, "commit", "--quiet", "--message", message]);
  return changed.length;
}

async function addFiles(folder: string, paths: readonly string[]): Promise<void> {
  const listed = paths.map((path) => `${path}\0`).join("");
  await git(folder, ["add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"], listed);
}

/** Sends the commits of a clone to where it came from. */
export async function pushCommits(folder: string): Promise<void> {
  await git(folder, ["push", "--quiet", "origin", "HEAD"]);
}
