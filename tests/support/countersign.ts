import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { repositoryRoot } from "./repository.ts";

const launcher = join(repositoryRoot, "countersign");

export interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Variables for programs that are to work in `dataDir`, and nowhere else. */
function environmentFor(dataDir: string): NodeJS.ProcessEnv {
  const { DATABASE_URL: _url, DATABASE_DIRECT_URL: _direct, ANTHROPIC_API_KEY: _key, ...rest } = process.env;
  const { COUNTERSIGN_URL: _server, COUNTERSIGN_TOKEN: _token, ...environment } = rest;
  return { ...environment, COUNTERSIGN_DATA: dataDir, PORT: "0" };
}

/** Runs the command line to its end, without a terminal. */
export async function countersign(dataDir: string, ...args: string[]): Promise<Answer> {
  const child = spawn(launcher, args, {
    cwd: repositoryRoot,
    env: environmentFor(dataDir),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number | null, out, error };
}

export interface DevEvent {
  readonly event: string;
  readonly [more: string]: unknown;
}

export interface Dev {
  readonly process: ChildProcess;
  readonly events: readonly DevEvent[];
  /** The first event of this name, now or later. Rejects where `dev` ends before. */
  event(name: string): Promise<DevEvent>;
  /** What Ctrl-C does: a SIGINT to the whole group. Resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

/** Starts `countersign dev` as a terminal would, in a process group of its own; `more` is added to its environment. */
export function startDev(dataDir: string, more: Readonly<Record<string, string>> = {}): Dev {
  const child = spawn(launcher, ["dev", "--json"], {
    cwd: repositoryRoot,
    env: { ...environmentFor(dataDir), ...more },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = text(child.stderr);
  const ended = once(child, "close");
  const events: DevEvent[] = [];
  const waiting: (() => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    events.push(JSON.parse(line) as DevEvent);
    for (const look of waiting.splice(0)) look();
  });

  async function event(name: string): Promise<DevEvent> {
    for (;;) {
      const found = events.find((one) => one.event === name);
      if (found !== undefined) return found;
      const more = new Promise<"more">((done) => waiting.push(() => done("more")));
      if ((await Promise.race([more, ended])) === "more") continue;
      throw new Error(`dev ended before it said ${name}: ${await said}`);
    }
  }

  return {
    process: child,
    events,
    event,
    async interrupt() {
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

/** The processes that belong to a data folder: started for it, working in it, or given it by name. */
export function processesOf(dataDir: string): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const command = readProc(pid, "cmdline").replaceAll("\0", " ").trim();
      const isIts = [command, readProc(pid, "environ"), readFolder(pid)].some((part) => part.includes(dataDir));
      return isIts && Number(pid) !== process.pid ? [{ pid: Number(pid), command }] : [];
    });
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // It has ended meanwhile, or is somebody else's.
  }
}

function readFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

/** Looks until `isSo`, for at most `patienceMs`. */
export async function until(isSo: () => boolean, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`It was not so after ${patienceMs} ms: ${isSo.toString()}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
