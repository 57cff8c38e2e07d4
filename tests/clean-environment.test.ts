import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { countersign, processesOf, startDev } from "./support/countersign.ts";
import { repositoryRoot } from "./support/repository.ts";

const dataDir = join(repositoryRoot, ".test-data", `clean-environment-${process.pid}`);
mkdirSync(dataDir, { recursive: true });
const canaries = { SLACK_BOT_TOKEN: "xoxb-canary-of-the-environment", DEEPGRAM_API_KEY: "deepgram-canary-0123456789" };
const dev = startDev(dataDir, canaries);

afterAll(async () => {
  await dev.interrupt();
  for (const { pid } of processesOf(dataDir)) process.kill(pid, "SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
});

test("secrets of the environment are stored by name, and no process of ours has them in its environment", async () => {
  await dev.event("ready");
  const notes = dev.events.filter(({ event }) => event === "note").map(({ text }) => text);
  expect(notes).toEqual([
    "SLACK_BOT_TOKEN: stored as the secret slack.send",
    "DEEPGRAM_API_KEY: stored as the secret speech.deepgram",
  ]);

  const processes = processesOf(dataDir);
  const commands = processes.map(({ command }) => command).join("\n");
  for (const part of ["apps/cli/src/main.ts dev", "apps/server/src/main.ts", "apps/worker/src/main.ts", "postgres"])
    expect(commands).toContain(part);
  const leaking = processes.filter(({ pid }) => {
    const readable = ["environ", "cmdline"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8")).join("\n");
    return Object.values(canaries).some((canary) => readable.includes(canary));
  });
  expect(leaking).toEqual([]);
  expect(JSON.stringify(dev.events)).not.toContain("canary");

  const listed = JSON.parse((await countersign(dataDir, "secrets", "ls", "--json")).out) as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(["slack.send", "speech.deepgram"]));
});
