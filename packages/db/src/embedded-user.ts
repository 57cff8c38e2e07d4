import { spawn, spawnSync } from "node:child_process";
import { lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedRefusal } from "./embedded-refusal.ts";

export type Finished = { code: number | null; output: string };

/** "nobody" on every Linux: who runs the server where root may not make a user namespace. */
const unprivilegedId = 65_534;

const namespace = ["--user", "--map-user=1000", "--map-group=1000"];

/** A server lives long, and everybody of its user can read what it was started with: nothing of ours is in it. */
const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

/**
 * Who runs the server. PostgreSQL refuses to run as root: root runs it in a user namespace, in which it is an ordinary
 * user and owns its files all the same; where the system forbids that, as an unprivileged user.
 */
let known: "self" | "namespace" | "unprivileged" | undefined;
function serverUser(): "self" | "namespace" | "unprivileged" {
  if (known === undefined) {
    if (process.getuid?.() !== 0) known = "self";
    else known = spawnSync("unshare", [...namespace, "true"]).status === 0 ? "namespace" : "unprivileged";
  }
  return known;
}

/**
 * Runs one of the binaries to its end. It has a session of its own, so Ctrl-C in the terminal reaches neither it nor
 * the server it starts.
 */
export function runAsServerUser(binary: string, args: readonly string[]): Promise<Finished> {
  const who = serverUser();
  const [command, words] = who === "namespace" ? ["unshare", [...namespace, binary, ...args]] : [binary, args];
  const identity = who === "unprivileged" ? { uid: unprivilegedId, gid: unprivilegedId } : {};
  return new Promise((done, fail) => {
    const stdio = ["ignore", "pipe", "pipe"] as const;
    const child = spawn(command, words, { cwd: "/", env, detached: true, stdio: [...stdio], ...identity });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", (error) =>
      fail(new EmbeddedRefusal("start_failed", `${binary} could not be run: ${error.message}`)),
    );
    child.once("exit", (code) => done({ code, output: output.trim() }));
  });
}

/**
 * Makes a folder that root has made, with all in it, belong to whoever runs the server; that may have been another at
 * the last start. Nothing is touched where it does already: a server may be at work in it.
 */
export function giveToServerUser(folder: string): void {
  const who = serverUser();
  const id = who === "unprivileged" ? unprivilegedId : 0;
  if (who === "self" || lstatSync(folder).uid === id) return;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) lchownSync(join(folder, path), id, id);
  lchownSync(folder, id, id);
}
