import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { CliError } from "../exit.ts";
import { pause } from "../verbs/interrupt.ts";

const logLine = z.looseObject({ level: z.number(), msg: z.string() });
export type ProgramLine = z.infer<typeof logLine>;

export interface ProgramOptions {
  readonly name: string;
  readonly entry: string;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  /** Takes all that it writes. */
  readonly logFile: string;
  /** The log line that says that it works. */
  readonly readyMessage: string;
  /** Warnings and errors that it logs. */
  readonly onTrouble: (line: ProgramLine) => void;
  /** It ended by itself and is started again. */
  readonly onRestart: (how: string) => void;
  /** It ended by itself too often. */
  readonly onGivenUp: (error: CliError) => void;
}

export interface Program {
  /** The line with which it said that it works, of the first start. */
  readonly ready: ProgramLine;
  /** Afterwards it has ended: in good order, or within `graceMs` by force. */
  stop(graceMs: number): Promise<void>;
  /** Ends it now; it is not started again. */
  kill(): void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const mostRestarts = 5;
const restartsWithinMs = 60_000;
const largestLog = 5 * 1024 * 1024;
const readyWithinMs = 60_000;

/**
 * Starts a program of ours and keeps it running: one that ends by itself is started again. Resolves when it works. It has
 * a process group of its own, so Ctrl-C reaches only the parent; it stops by itself when the parent is gone. Throws
 * CliError with what it said where it does not come up the first time.
 */
export async function superviseProgram(options: ProgramOptions, signal: AbortSignal): Promise<Program> {
  const { name, logFile } = options;
  const first = Promise.withResolvers<ProgramLine>();
  const stopping = new AbortController();
  const ends: number[] = [];
  let isReady = false;
  let child: Child | undefined;
  keepLogSmall(logFile);

  async function keepRunning(): Promise<void> {
    for (;;) {
      child = startChild(options);
      const said = takeOutput(child, options, (line) => {
        if (line.msg !== options.readyMessage) return;
        isReady = true;
        first.resolve(line);
      });
      const how = await ended(child);
      child = undefined;
      if (stopping.signal.aborted) return;
      if (!isReady) return first.reject(new CliError("error", didNotStart(options, how, said())));
      const now = Date.now();
      ends.push(now);
      if (ends.filter((at) => at > now - restartsWithinMs).length > mostRestarts) {
        return options.onGivenUp(
          new CliError("error", `The ${name} ended again and again (${how}). What it said is in ${logFile}.`),
        );
      }
      options.onRestart(how);
      await pause(Math.min(200 * 2 ** (ends.length - 1), 5_000), stopping.signal);
      if (stopping.signal.aborted) return;
    }
  }

  async function stop(graceMs: number): Promise<void> {
    stopping.abort();
    child?.kill("SIGTERM");
    const force = setTimeout(() => child?.kill("SIGKILL"), graceMs);
    await running;
    clearTimeout(force);
  }

  function kill(): void {
    stopping.abort();
    child?.kill("SIGKILL");
  }

  const running = keepRunning();
  const interrupted = new Promise<never>((_done, fail) =>
    signal.addEventListener("abort", () => fail(signal.reason as Error), { once: true }),
  );
  const late = new AbortController();
  const patience = pause(readyWithinMs, late.signal).then(() => {
    if (!isReady)
      throw new CliError("error", `The ${name} did not come up within ${readyWithinMs / 1_000} s; see ${logFile}.`);
    return first.promise;
  });
  try {
    const ready = await Promise.race([first.promise, interrupted, patience]);
    return { ready, stop, kill };
  } catch (error) {
    await stop(5_000);
    throw error;
  } finally {
    late.abort();
    patience.catch(() => undefined);
  }
}

function startChild({ entry, environment }: ProgramOptions): Child {
  const preload = pathToFileURL(join(import.meta.dirname, "stop-with-parent.ts")).href;
  return spawn(process.execPath, [...process.execArgv, "--import", preload, entry], {
    env: environment(),
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Writes what the child says into its log, and tells of the lines that matter. Returns what it said outside of the log. */
function takeOutput(
  child: Child,
  { logFile, onTrouble }: ProgramOptions,
  onLine: (line: ProgramLine) => void,
): () => string {
  const plain: string[] = [];
  const take = (text: string): void => {
    appendFileSync(logFile, `${text}\n`);
    const line = parseLine(text);
    if (line === undefined) {
      plain.push(text);
      if (plain.length > 12) plain.shift();
      return;
    }
    onLine(line);
    if (line.level >= 40) onTrouble(line);
  };
  createInterface({ input: child.stdout }).on("line", take);
  createInterface({ input: child.stderr }).on("line", take);
  child.stdin.on("error", () => undefined);
  return () => plain.join("\n");
}

function parseLine(text: string): ProgramLine | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return logLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

async function ended(child: Child): Promise<string> {
  try {
    const [code, killedBy] = (await once(child, "close")) as [number | null, string | null];
    return killedBy === null ? `exit code ${code}` : killedBy;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function didNotStart({ name, logFile }: ProgramOptions, how: string, said: string): string {
  return said === ""
    ? `The ${name} did not start (${how}); see ${logFile}.`
    : `The ${name} did not start (${how}):\n${said}`;
}

function keepLogSmall(logFile: string): void {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > largestLog) renameSync(logFile, `${logFile}.1`);
}
