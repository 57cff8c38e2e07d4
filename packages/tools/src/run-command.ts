import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chown, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { endProcesses, noteDescendants } from "./exec-processes.ts";
import { markerName } from "./exec-user.ts";

export interface CommandRequest {
  readonly command: string;
  /** Where it runs; a fresh folder of its own, removed afterwards, unless stated. */
  readonly cwd: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of stdout and stderr together. */
  readonly mostBytes: number;
  readonly signal: AbortSignal;
  /** The user that this command, and no other, runs as; undefined for the worker's own. */
  readonly uid: number | undefined;
}

/** `output` is what both streams said, in the order in which it arrived, cut at the cap with a mark. */
export type CommandOutcome =
  | {
      readonly kind: "exited";
      readonly code: number | null;
      readonly killedBy: string | null;
      readonly output: string;
      readonly left: number;
    }
  | { readonly kind: "timeout" | "stopped"; readonly output: string; readonly left: number }
  | { readonly kind: "not_started"; readonly reason: string };

/** How long the streams of an ended command may take to run dry. */
const drainMs = 500;
const lookMs = 100;

/**
 * Runs `/bin/sh -c`, without input, in a session of its own. However it ends (by itself, by its time limit, by the signal),
 * everything that it started is ended with it; `left` says how many processes could not be. Never holds more of its output
 * than the cap. Never rejects.
 */
export async function runCommand(request: CommandRequest): Promise<CommandOutcome> {
  const scratch = request.cwd === undefined ? await makeScratch(request.uid) : undefined;
  const cwd = request.cwd ?? scratch ?? "/";
  try {
    if (!(await isFolder(cwd))) return { kind: "not_started", reason: `${cwd} is not a folder` };
    return await runIn(cwd, request, scratch === undefined ? {} : { HOME: scratch });
  } finally {
    if (scratch !== undefined) await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function runIn(
  cwd: string,
  { command, environment, timeoutMs, mostBytes, signal, uid }: CommandRequest,
  more: Readonly<Record<string, string>>,
): Promise<CommandOutcome> {
  if (signal.aborted) return { kind: "not_started", reason: "the call was stopped before it began" };
  const marker = randomUUID();
  const output = keepOutput(mostBytes);
  const child = spawn("/bin/sh", ["-c", command], {
    cwd,
    // Told in the worker's id too, so that what a dead worker left can be found.
    env: { ...environment, ...more, PWD: cwd, [markerName]: `${process.pid}.${marker}` },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", output.take);
    stream.on("error", () => undefined);
  }
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const started = await whenStarted(child);
  const group = child.pid;
  if (started !== undefined || group === undefined)
    return { kind: "not_started", reason: started ?? "/bin/sh did not start" };

  const seen = new Map<number, string>();
  const watching = uid === undefined ? setInterval(() => noteDescendants(group, seen), lookMs) : undefined;
  const reason = await whyEnded(child, timeoutMs, signal);
  clearInterval(watching);
  const left = await endProcesses({ group, marker, uid, seen });
  await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  if (reason !== "exited") return { kind: reason, output: output.text(), left };
  return { kind: "exited", code: child.exitCode, killedBy: child.signalCode, output: output.text(), left };
}

/** Undefined once it runs; else why it does not. */
async function whenStarted(child: ChildProcess): Promise<string | undefined> {
  return await new Promise((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", (error: NodeJS.ErrnoException) =>
      resolve(`/bin/sh could not be started there as that user (${error.code ?? "no code"})`),
    );
  });
}

async function whyEnded(
  child: ChildProcess,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<"exited" | "timeout" | "stopped"> {
  return await new Promise((resolve) => {
    const end = (reason: "exited" | "timeout" | "stopped"): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(reason);
    };
    const stop = (): void => end("stopped");
    const timer = setTimeout(() => end("timeout"), timeoutMs);
    signal.addEventListener("abort", stop, { once: true });
    if (child.exitCode !== null || child.signalCode !== null) end("exited");
    else child.once("exit", () => end("exited"));
    if (signal.aborted) stop();
  });
}

/** Keeps the first bytes and counts the rest. */
function keepOutput(mostBytes: number): { take(chunk: Buffer): void; text(): string } {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let allBytes = 0;
  return {
    take(chunk) {
      allBytes += chunk.length;
      if (keptBytes === mostBytes) return;
      // A copy, so that a small piece does not keep a large buffer alive.
      const piece = Buffer.from(chunk.subarray(0, mostBytes - keptBytes));
      kept.push(piece);
      keptBytes += piece.length;
    },
    text() {
      const isCut = allBytes > keptBytes;
      // Streaming leaves out a character that the cut went through.
      const text = new TextDecoder().decode(Buffer.concat(kept), { stream: isCut });
      return isCut ? `${text}\n[cut: the first ${keptBytes} of ${allBytes} bytes]` : text;
    },
  };
}

async function makeScratch(uid: number | undefined): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-command-"));
  if (uid !== undefined) await chown(folder, uid, uid);
  return folder;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
