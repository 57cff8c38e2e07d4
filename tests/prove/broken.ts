import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { brokenEngines } from "./broken/engines.ts";
import type { Report } from "./report.ts";

/**
 * Runs, for every engine with a known fault, the proof that has to notice it, in a process and on a database of its own. A
 * violation is a fault that nobody noticed.
 */
export async function proveBroken(onProgress: (text: string) => void): Promise<Report> {
  const violations: string[] = [];
  for (const [name, { fault, proof }] of Object.entries(brokenEngines)) {
    const { code, out } = await run([...proof, `--broken=${name}`]);
    const noticed = /^VIOLATION .*/m.exec(out)?.[0].slice(0, 300);
    onProgress(`${fault}: ${noticed ?? "not noticed"} (${proof.join(" ")})`);
    if (code !== 1 || noticed === undefined) violations.push(`${fault}: ${proof.join(" ")} ended with ${code}\n${out}`);
  }
  return { counts: { engines: Object.keys(brokenEngines).length }, violations };
}

async function run(args: readonly string[]): Promise<{ code: number | null; out: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: code as number | null, out: out + error };
}
