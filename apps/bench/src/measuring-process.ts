import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Answer, Ask } from "./child.ts";
import type { ContestantName } from "./contestants.ts";

export interface MeasuringProcess {
  readonly name: ContestantName;
  /** Rejects where the process failed at it, or died. */
  ask<K extends Answer["kind"]>(ask: Ask, expected: K): Promise<Extract<Answer, { kind: K }> | undefined>;
  stop(): Promise<void>;
}

/** Starts the process that measures one contestant; it answers one question at a time. */
export function startMeasuring(name: ContestantName): MeasuringProcess {
  const child = fork(join(import.meta.dirname, "child.ts"), [name], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const died = once(child, "exit").then(([code, signal]) => {
    throw new Error(`The process that measures ${name} ended: ${String(code ?? signal)}`);
  });
  died.catch(() => undefined);
  return {
    name,
    async ask(ask, expected) {
      const reply = once(child, "message");
      child.send(ask);
      const [answer] = (await Promise.race([reply, died])) as [Answer];
      if (answer.kind === "absent") return undefined;
      if (answer.kind === "failed") throw new Error(`${name}: ${answer.message}`);
      if (answer.kind !== expected) throw new Error(`${name} answered ${answer.kind} to ${ask.kind}`);
      return answer as Extract<Answer, { kind: typeof expected }>;
    },
    async stop() {
      child.kill();
      await died.catch(() => undefined);
    },
  };
}
