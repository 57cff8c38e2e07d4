import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { loadAppPolicy } from "./load-app-policy.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { readWrittenRules } from "./read-rules.ts";
import { appScope } from "./commits/kill-scope.ts";
import { registerTools } from "./tools.ts";

const { sql, elsewhere } = await engineDatabase();
const folder = mkdtempSync(join(tmpdir(), "countersign-policy-"));
const file = join(folder, "policy.json");
const tools = registerTools([
  readingTool("look", () => ({ kind: "done", content: "" })),
  sendingTool("act", () => ({ kind: "done", content: "" })),
]);

afterAll(() => rmSync(folder, { recursive: true }));

afterEach(async () => {
  await sql`update policies set configuration_hash = null, dial_level = null, softened = null where scope = 'app'`;
  await sql`update rules set revoked_at = clock_timestamp() where scope = 'app' and revoked_at is null`;
});

function write(document: unknown): void {
  writeFileSync(file, typeof document === "string" ? document : JSON.stringify(document, null, 2));
}

async function appVersion(): Promise<number> {
  const [row] = await sql<{ version: string }[]>`select version from policies where scope = 'app'`;
  return Number(row?.version);
}

async function said(): Promise<string[]> {
  const rules = await readWrittenRules(sql, appScope.scopeId);
  return rules.map(({ target, mode }) => `${"name" in target ? target.name : "everything"} ${mode}`);
}

test("the app's layer says what the file says and nothing else, and its version moves only where the file is another", async () => {
  write({
    rules: [{ target: { kind: "tool", name: "act" }, mode: "ask", locked: true }],
    dial: { level: "low", locked: true },
  });
  expect(await loadAppPolicy(sql, file, tools)).toBe("configured");
  expect(await said()).toEqual(["act ask"]);
  const version = await appVersion();
  expect(await loadAppPolicy(sql, file, tools)).toBe("unchanged");
  expect(await appVersion()).toBe(version);
  write({ rules: [{ target: { kind: "everything" }, mode: "deny" }], denylistSoftened: ["sudo"] });
  expect(await loadAppPolicy(sql, file, tools)).toBe("configured");
  expect(await said()).toEqual(["everything deny"]);
  expect(await appVersion()).toBeGreaterThan(version);
  const [row] = await sql`select dial_level, softened from policies where scope = 'app'`;
  expect(row).toEqual({ dial_level: null, softened: ["sudo"] });
  const audit = await sql`select actor from audit where action = 'policy.configured'`;
  expect(audit).toEqual([{ actor: "system:configuration" }, { actor: "system:configuration" }]);
});

test("AZ20: a file with one bad line is refused with that line, and what was taken in before stays in force", async () => {
  write({ rules: [{ target: { kind: "tool", name: "act" }, mode: "deny" }] });
  await loadAppPolicy(sql, file, tools);
  for (const [broken, why] of [
    [
      '{\n  "rules": [\n    {"target": {"kind": "tool", "name": "look"}, "mode": "ask"},\n    {"target": {"kind": "tool", "name": "acts"}, "mode": "deny"}\n  ]\n}',
      /line 4: .*acts/,
    ],
    ['{\n  "rules": [],\n  "rule": []\n}', /line 3: rule/],
    ['{\n  "rules": [\n', /line \d/],
    ['{\n  "dial": {"level": "everything"}\n}', /line 2: dial/],
  ] as const) {
    write(broken);
    await expect(loadAppPolicy(sql, file, tools)).rejects.toThrow(why);
    expect(await said()).toEqual(["act deny"]);
  }
  await expect(loadAppPolicy(sql, join(folder, "none.json"), tools)).rejects.toThrow(/cannot be read/);
});

test("of two processes that start with the same file, one takes it in", async () => {
  write({ dial: { level: "read" } });
  const outcomes = await Promise.all([loadAppPolicy(sql, file, tools), loadAppPolicy(elsewhere, file, tools)]);
  expect(outcomes.toSorted()).toEqual(["configured", "unchanged"]);
});

test("the policy file that the documents show is one that is taken in", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/authorization.md"), "utf8");
  const shown = /```json\n(.*?)```/s.exec(page)?.[1] ?? "";
  write(shown);
  const named = registerTools([
    sendingTool("mail.send", () => ({ kind: "done", content: "" })),
    sendingTool("os.exec", () => ({ kind: "done", content: "" }), { family: "shell" }),
    sendingTool("files.attach", () => ({ kind: "done", content: "" })),
  ]);
  expect(await loadAppPolicy(sql, file, named)).toBe("configured");
  expect(await said()).toEqual(["shell deny", "files.attach off", "mail.send ask", "os.exec allowlist"]);
});
