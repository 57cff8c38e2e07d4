import { readdirSync, readFileSync } from "node:fs";

/** The processes with this text in their command line, by id; words of one are separated by NUL. */
export function runsWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => read(pid).includes(text))
    .map(Number);
}

/** Looks until `holds` is true. */
export async function until(holds: () => boolean, patienceMs = 30_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!holds()) {
    if (performance.now() > deadline)
      throw new Error(`It did not come true within ${patienceMs} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function read(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
