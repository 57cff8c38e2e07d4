import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { Refusal } from "./local/refusal.ts";
import { createProgram } from "./program.ts";
import { openTerminal } from "./terminal/terminal.ts";
import { tellError } from "./verb.ts";

const acts = "\u001b[2J\u001b]0;x\u0007\u009b8m\u202E\revil";
const acting = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;

const person = { id: acts, name: acts, role: acts, email: acts, isService: false, disabledAt: null };
const at = "2026-01-01T00:00:00.000Z";
const everything = {
  files: [{ id: acts, name: acts, size: acts, createdBy: person, createdAt: at }],
  tools: [{ name: acts }],
  definitions: [{ id: acts, name: acts, version: acts, createdAt: at, spec: { description: acts } }],
  users: [person],
  people: [person],
  commands: [{ id: acts, pageTitle: acts, kind: acts, undoneBy: null, revision: acts, by: person, runId: null, at }],
  delegations: [{ id: acts, from: person, to: person, approvalId: null, expiresAt: at, revokedAt: null }],
  secrets: [{ name: acts, capability: acts, version: acts, setAt: at }],
  nextCursor: null,
};
const refusal = { code: "forbidden", detail: acts, requestId: acts };

// Each verb opens the terminal, of which a process has one.
process.stdout.setMaxListeners(100);

let isRefusing = false;
const server = createServer((_request, response) => {
  response
    .writeHead(isRefusing ? 403 : 200, { "content-type": "application/json" })
    .end(JSON.stringify(isRefusing ? refusal : everything));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
vi.stubEnv("COUNTERSIGN_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
vi.stubEnv("COUNTERSIGN_TOKEN", "token");
afterAll(() => {
  vi.unstubAllEnvs();
  server.close();
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** All that `body` writes to the terminal. */
async function writtenBy(body: () => unknown): Promise<string> {
  let text = "";
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  vi.spyOn(console, "error").mockImplementation((said: unknown) => {
    text += String(said);
  });
  await body();
  vi.restoreAllMocks();
  return text;
}

const run = async (...words: string[]): Promise<string> =>
  await writtenBy(async () => await createProgram().parseAsync(["node", "countersign", ...words]));

test.each([
  ["files", "ls"],
  ["defs", "ls"],
  ["people", "ls"],
  ["kb", "history"],
  ["tasks", "delegations"],
  ["secrets", "ls"],
])("UI16: %s %s shows whatever the server says so that nothing of it acts on the terminal", async (...words) => {
  for (const flags of [[], ["--json"]]) {
    isRefusing = false;
    const shown = await run(...words, ...flags);
    expect(process.exitCode).toBeUndefined();
    expect(shown).toContain("evil");
    expect(shown).not.toMatch(acting);
    isRefusing = true;
    const refused = await run(...words, ...flags);
    expect(process.exitCode).toBe(3);
    expect(refused).toContain("evil");
    expect(refused).not.toMatch(acting);
    process.exitCode = undefined;
  }
});

test("UI16: no error acts on the terminal, whoever threw it, and its lines stay lines", async () => {
  const terminal = openTerminal({ isColorUnwanted: true });
  const thrown = [
    new Refusal(`one\n${acts}`),
    new TypeError(`one\n${acts}`),
    new Error("one\n", { cause: acts }),
    acts,
  ];
  for (const error of thrown) {
    const told = await writtenBy(() => tellError({ isJson: false, terminal }, error));
    expect(told).toContain("evil");
    expect(told).not.toMatch(acting);
    if (error !== acts) expect(told).toContain("one\n");
  }
});
