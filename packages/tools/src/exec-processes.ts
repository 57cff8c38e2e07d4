import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** How the processes of one command are told from all others. */
export interface CommandProcesses {
  /** The process group, which is also the session, of the shell. */
  readonly group: number;
  /** Stands in the environment of everything that the command started and that did not clear it. */
  readonly marker: string;
  /** The user that runs this command and nothing else; undefined where it runs as the worker's own. */
  readonly uid: number | undefined;
  /** Processes seen below the shell, which may have left its session since; by id, with the time each began. */
  readonly seen: ReadonlyMap<number, string>;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startedAt: string;
}

const killPatienceMs = 1_500;

/**
 * Afterwards nothing that the command started runs any more, children that left its group or session included, as far as
 * they can be told (see `CommandProcesses`). Returns how many were still there after 1.5 s.
 */
export async function endProcesses(command: CommandProcesses): Promise<number> {
  const deadline = performance.now() + killPatienceMs;
  kill(-command.group);
  for (let quiet = 0; ;) {
    const left = findProcesses(command);
    quiet = left.length === 0 ? quiet + 1 : 0;
    // A process can be born while the list is read, so one empty look is not enough.
    if (quiet === 2 || performance.now() > deadline) return left.length;
    if (command.uid !== undefined && left.length > 0) await killAllOf(command.uid);
    for (const pid of left) kill(pid);
    await delay(left.length === 0 ? 1 : 5);
  }
}

/** The processes of a command that run now. Empty where the system has no /proc. */
function findProcesses(command: CommandProcesses): number[] {
  return listProcesses()
    .filter((entry) => isOf(entry, command))
    .map(({ pid }) => pid);
}

/** Adds what now runs below the shell, or below anything seen before, to `seen`. */
export function noteDescendants(shell: number, seen: Map<number, string>): void {
  const entries = listProcesses();
  for (let grew = true; grew;) {
    grew = false;
    for (const { pid, parent, startedAt } of entries) {
      if (seen.has(pid) || (parent !== shell && !seen.has(parent))) continue;
      seen.set(pid, startedAt);
      grew = true;
    }
  }
}

/** Afterwards no process of this user runs; for users that run commands and nothing else. Returns how many are left. */
export async function endProcessesOf(uid: number): Promise<number> {
  const deadline = performance.now() + killPatienceMs;
  for (;;) {
    const left = listProcesses().filter(({ pid }) => uidsOf(pid).includes(uid));
    if (left.length === 0 || performance.now() > deadline) return left.length;
    await killAllOf(uid);
    await delay(5);
  }
}

/**
 * Ends the processes with a worker's mark in their environment (`<name>=<worker's id>.`) whose worker runs no more, as far
 * as this user may look. Returns how many it told to end.
 */
export function endMarkedByTheDead(name: string): number {
  const entries = listProcesses();
  const running = new Set(entries.map(({ pid }) => pid));
  const mark = new RegExp(`(?:^|\\0)${name}=(\\d+)\\.`);
  const orphans = entries.filter(({ pid }) => {
    const worker = mark.exec(read(pid, "environ"))?.[1];
    return worker !== undefined && !running.has(Number(worker));
  });
  for (const { pid } of orphans) kill(pid);
  return orphans.length;
}

function isOf({ pid, group, session, startedAt }: ProcessEntry, command: CommandProcesses): boolean {
  if (group === command.group || session === command.group) return true;
  if (command.uid !== undefined) return uidsOf(pid).includes(command.uid);
  return command.seen.get(pid) === startedAt || read(pid, "environ").includes(command.marker);
}

/** One system call of that user's own: it outruns a program that forks faster than a list can be read. */
async function killAllOf(uid: number): Promise<void> {
  const killer = spawn("/bin/sh", ["-c", "kill -KILL -1"], { uid, gid: uid, env: {}, cwd: "/", stdio: "ignore" });
  killer.on("error", () => undefined);
  if (killer.pid !== undefined) await once(killer, "exit");
}

/** Ends one process, or with a negative number a group; one that is gone is no error. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile, or is nobody we may signal; the next look tells.
  }
}

/** What runs, without those that have ended and only wait to be collected. */
function listProcesses(): ProcessEntry[] {
  return list().flatMap((pid) => {
    // The name, in parentheses, may hold anything, so what follows is counted from its end.
    const fields = read(pid, "stat")
      .replace(/^[^]*\)\s/, "")
      .split(" ");
    const [state, parent, group, session] = fields;
    if (state === undefined || state === "" || state === "Z" || state === "X") return [];
    return [
      { pid, parent: Number(parent), group: Number(group), session: Number(session), startedAt: fields[19] ?? "" },
    ];
  });
}

function list(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function uidsOf(pid: number): number[] {
  return (/^Uid:(.*)$/m.exec(read(pid, "status"))?.[1] ?? "").trim().split(/\s+/).map(Number);
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
