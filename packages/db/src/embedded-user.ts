import { spawn, spawnSync } from "node:child_process";
import { chownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedRefusal } from "./embedded-refusal.ts";

export type Finished = { code: number | null; output: string };

/** "nobody" on every Linux: who runs the server where root may not make a user namespace. */
const unprivilegedId = 65_534;

const namespace = ["--user", "--map-user=1000", "--map-group=1000"];

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
    const child = spawn(command, words, { cwd: "/", detached: true, stdio: ["ignore", "pipe", "pipe"], ...identity });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", (error) => fail(new EmbeddedRefusal("start_failed", `${binary} could not be run: ${error.message}`)));
    child.once("exit", (code) => done({ code, output: output.trim() }));
  });
}

/** Makes root's files below `folder` those of whoever runs the server; it may have been another at the last start. */
export function giveToServerUser(folder: string): void {
  const who = serverUser();
  if (who !== "self") own(folder, who === "unprivileged" ? unprivilegedId : 0);
}

function own(path: string, id: number): void {
  const found = lstatSync(path);
  if (found.uid !== id) chownSync(path, id, id);
  if (!found.isDirectory()) return;
  for (const name of readdirSync(path)) own(join(path, name), id);
}
