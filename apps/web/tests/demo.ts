import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "../../..");

interface DemoEvent {
  readonly event: string;
  readonly [more: string]: unknown;
}

/** Everything that `npm start` starts, with its demo, in a folder of its own. */
export interface Demo {
  readonly url: string;
  /** Signs in once. */
  readonly loginUrl: string;
  /** The first thing it says of this name, now or later. */
  event(name: string): Promise<DemoEvent>;
  /** What Ctrl-C does; afterwards its folder is gone. */
  stop(): Promise<void>;
}

/** Starts the demo as a newcomer does; resolves when its first cards wait. */
export async function startDemo(name: string): Promise<Demo> {
  const dataDir = join(root, ".test-data", `${name}-${process.pid}`);
  mkdirSync(dataDir, { recursive: true });
  // Whatever it would take instead of what it brings itself.
  const without = [
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "ANTHROPIC_API_KEY",
    "COUNTERSIGN_URL",
    "COUNTERSIGN_TOKEN",
  ].flatMap((variable) => ["-u", variable]);
  const settings = [`COUNTERSIGN_DATA=${dataDir}`, "PORT=0"];
  const child = spawn("env", [...without, ...settings, join(root, "countersign"), "dev", "--json"], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const events: DemoEvent[] = [];
  const waiting: (() => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    events.push(JSON.parse(line) as DemoEvent);
    for (const look of waiting.splice(0)) look();
  });

  async function event(wanted: string): Promise<DemoEvent> {
    for (;;) {
      const found = events.find((one) => one.event === wanted);
      if (found !== undefined) return found;
      const more = new Promise<"more">((done) => waiting.push(() => done("more")));
      if ((await Promise.race([more, ended])) !== "more") throw new Error(`The demo ended before it said ${wanted}`);
    }
  }

  const ready = await event("ready");
  return {
    url: String(ready["url"]),
    loginUrl: String(ready["loginUrl"]),
    event,
    async stop() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
      await ended;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
