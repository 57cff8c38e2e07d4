import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Answer } from "./countersign.ts";
import { repositoryRoot } from "./repository.ts";

/** Runs a verb of the command line to its end, in an environment of `env` and PATH alone, with `input` as its standard input. */
export async function runVerb(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  input = "",
): Promise<Answer> {
  const child = spawn(join(repositoryRoot, "countersign"), args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number | null, out, error };
}

/** As `runVerb`, with a reader of its output that has gone away before anything is written. */
export async function runUnread(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Pick<Answer, "code" | "error">> {
  const child = spawn(join(repositoryRoot, "countersign"), args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  const [error, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  return { code: code as number | null, error };
}
