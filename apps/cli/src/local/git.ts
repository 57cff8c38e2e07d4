import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CliError } from "../exit.ts";

const run = promisify(execFile);

/** Remote helpers run commands that an address may name; nothing of a repository's own runs either. */
const guards = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false"];

async function git(folder: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("git", ["-C", folder, ...guards, ...args], { maxBuffer: 64 * 2 ** 20 });
    return stdout;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new CliError("error", "There is no git on this machine. Install it, or import a folder.");
    }
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new CliError("error", `git ${args[0]} failed: ${said}`, { error });
  }
}

/** Clones the newest state of a repository's branch, its own unless given, into `folder`, which is empty. */
export async function cloneRepository(address: string, folder: string, branch?: string): Promise<void> {
  const of = branch === undefined ? [] : ["--branch", branch];
  await git(folder, ["clone", "--quiet", "--depth", "1", "--single-branch", ...of, "--", address, "."]);
}

/** Commits everything that changed in a work tree; false where nothing did. The author is git's, else Countersign. */
export async function commitAll(folder: string, message: string): Promise<boolean> {
  await git(folder, ["add", "--all"]);
  if ((await git(folder, ["status", "--porcelain"])).trim() === "") return false;
  const name = await git(folder, ["config", "user.email"]).catch(() => "");
  const author = name.trim() === "" ? ["-c", "user.name=Countersign", "-c", "user.email=countersign@localhost"] : [];
  await git(folder, [...author, "commit", "--quiet", "--message", message]);
  return true;
}

/** Sends the commits of a clone to where it came from. */
export async function pushCommits(folder: string): Promise<void> {
  await git(folder, ["push", "--quiet", "origin", "HEAD"]);
}
