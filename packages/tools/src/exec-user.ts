import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { endMarkedByTheDead, endProcessesOf } from "./exec-processes.ts";

/** The name of the variable that marks what a command started; its value begins with the worker's process id. */
export const markerName = "COUNTERSIGN_COMMAND";

/** Above the users that systems hand out to people and services. */
const firstUid = 70_000;
const mostUsers = 64;

/** A user that runs one command at a time on this machine. */
export interface CommandUser {
  readonly uid: number;
  /** Afterwards another command may run as this user. */
  release(): void;
}

/**
 * Takes a user that no other command on this machine runs as, whichever worker started it, and ends whatever an earlier
 * worker left running as that user. Undefined where all of them are taken. A worker that dies releases its users.
 */
export async function takeUser(): Promise<CommandUser | undefined> {
  for (let uid = firstUid; uid < firstUid + mostUsers; uid += 1) {
    const hold = await holdName(`\0countersign-os-exec-${uid}`);
    if (hold === undefined) continue;
    if ((await endProcessesOf(uid)) === 0) return { uid, release: () => void hold.close() };
    hold.close();
  }
  return undefined;
}

/**
 * Afterwards no command runs on this machine whose worker is gone; to be called when a worker starts. Returns for how many
 * users something could not be ended.
 */
export async function endLeftCommands(user: "own" | "same"): Promise<number> {
  if (user === "same") {
    endMarkedByTheDead(markerName);
    return 0;
  }
  let unended = 0;
  for (let uid = firstUid; uid < firstUid + mostUsers; uid += 1) {
    const hold = await holdName(`\0countersign-os-exec-${uid}`);
    if (hold === undefined) continue;
    if ((await endProcessesOf(uid)) > 0) unended += 1;
    hold.close();
  }
  return unended;
}

/** Whether this process can start programs as those users: it is root, and they exist in its user namespace. */
export function canSwitchUser(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const ranges = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
    return ranges.some((range) => {
      const [start = 0, , count = 0] = range.trim().split(/\s+/).map(Number);
      return start <= firstUid && firstUid + mostUsers <= start + count;
    });
  } catch {
    return false;
  }
}

/** A name in the machine's abstract socket space: the kernel lets go of it when its process ends, however it ends. */
async function holdName(name: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return await new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen({ path: name }, () => resolve(server));
  });
}
