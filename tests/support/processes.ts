import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** A process of ours under test. */
export interface TestProcess {
  /** The first line of its log for which `found` gives something. Rejects when the process ends before. */
  waitFor<T>(found: (line: Record<string, unknown>) => T | undefined): Promise<T>;
  readonly pid: number;
  /** Writes a line to its standard input. */
  tell(line: string): void;
  /** Sends it a signal, such as SIGSTOP, and waits for nothing. */
  signal(name: NodeJS.Signals): void;
  /** Every line that it wrote so far. */
  said(): readonly string[];
  /** What it said before it ended; undefined as long as it runs. */
  lastWords(): string | undefined;
  /** What it was started with, as everybody of its user can read it. */
  environment(): string;
  /** SIGKILL; resolves once it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a script of the repository with this Node, with nothing of our environment but PATH and what is given. */
export function startProcess(script: string, env: Record<string, string>, args: readonly string[] = []): TestProcess {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A line to one that was killed just now is lost with it.
  child.stdin.on("error", () => undefined);
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const isGone = once(child, "exit");
  let hasExited = false;
  void isGone.then(() => {
    hasExited = true;
    for (const look of waiting) look();
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }

  return {
    pid: child.pid ?? 0,
    tell: (line) => void child.stdin.write(`${line}\n`),
    signal: (name) => void child.kill(name),
    lastWords: () => (hasExited ? lines.slice(-40).join("\n") : undefined),
    waitFor: (found) =>
      new Promise((resolve, reject) => {
        let seen = 0;
        const look = (): void => {
          for (; seen < lines.length; seen++) {
            const value = found(parseLine(lines[seen] ?? ""));
            if (value === undefined) continue;
            waiting.delete(look);
            return resolve(value);
          }
          if (!hasExited) return;
          waiting.delete(look);
          reject(new Error(`${script} ended before the line that was waited for; it said:\n${lines.join("\n")}`));
        };
        waiting.add(look);
        look();
      }),
    said: () => lines,
    environment: () => readFileSync(`/proc/${child.pid}/environ`, "utf8"),
    async kill() {
      child.kill("SIGKILL");
      if (!hasExited) await isGone;
    },
    async stop() {
      child.kill("SIGTERM");
      if (!hasExited) await isGone;
      return child.exitCode;
    },
  };
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { text: line };
  }
}
