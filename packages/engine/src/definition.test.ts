import { expect, test } from "vitest";
import { createDefinitions, definitionSpec, grantsOf, parseDefinition } from "./definition.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { makeWorld } from "./testing/fixtures.ts";
import { registerTools } from "./tools.ts";

const { sql } = await engineDatabase();

const act = () => ({ kind: "done", content: "" }) as const;
const tools = registerTools([
  readingTool("look", act),
  sendingTool("send", act),
  sendingTool("post", act, { requires: ["web.post", "mail.send"] }),
]);
const tenYearsMs = 3_660 * 86_400_000;
const least = { name: "agent", model: "scripted", toolset: ["look", "send"] };

test("what is left out has the careful default", () => {
  expect(parseDefinition(least, tools)).toEqual({
    ...least,
    description: "",
    instructions: "",
    approvalPolicy: "outbound",
    onDenial: "continue",
    unattended: "park",
    maxOutputTokens: 8_192,
    limits: { turns: 200, toolCalls: 1_000 },
  });
});

test("all that is wrong is said at once: unknown fields, unknown tools, capabilities nobody requires", () => {
  const wrong = { ...least, aproval: "none", approvalPolicy: "never", limits: { turns: 0 } };
  expect(() => parseDefinition(wrong, tools)).toThrow(/aproval[\s\S]*|approvalPolicy/);
  const message = messageOf(() => parseDefinition(wrong, tools));
  for (const field of ["aproval", "approvalPolicy", "limits.turns"]) expect(message).toContain(field);

  const unknown = messageOf(() =>
    parseDefinition({ ...least, toolset: ["lok", "send", "__proto__"], caps: ["mail.send", "shell"] }, tools),
  );
  expect(unknown).toContain('there is no tool "lok", nor "__proto__"; known: look, send, post');
  expect(unknown).toContain('none of its tools requires the capability "shell"');
  expect(unknown).not.toContain('"mail.send"');

  const both = messageOf(() =>
    parseDefinition({ ...wrong, toolset: ["lok"], caps: ["shell"], approvers: { roles: [] } }, tools),
  );
  for (const problem of ["aproval", "limits.turns", '"lok"', '"shell"', "approvers name nobody"]) {
    expect(both).toContain(problem);
  }
  // What waits on a part that is wrong itself is not told: it may be right once that is.
  const half = { ...least, approvalExpiresMs: 0, approvers: { remindBeforeMs: 1_000 } };
  expect(messageOf(() => parseDefinition(half, tools))).not.toContain("remindBeforeMs");
});

test.each([
  ["name", { name: "a\0" }],
  ["description", { description: "a\0" }],
  ["model", { model: "a\ud800" }],
  ["classifierModel", { classifierModel: "a\0" }],
  ["instructions", { instructions: "\udfffa" }],
  ['companions["a\\u0000"]', { companions: { "a\0": "b" } }],
  ["companions.a", { companions: { a: "b\ud800" } }],
])("text that cannot be stored is refused, and %s named", (field, part) => {
  const message = messageOf(() => parseDefinition({ ...least, ...part }, tools));
  expect(message).toMatch(/holds (?:a NUL character|half of a surrogate pair)/);
  expect(message).toContain(`at ${field}`);
});

test.each([
  ["approvalExpiresMs", (ms: number) => ({ approvalExpiresMs: ms })],
  ["approvers.remindBeforeMs", (ms: number) => ({ approvalExpiresMs: tenYearsMs, approvers: { remindBeforeMs: ms } })],
  [
    "approvers.escalation.afterMs",
    (ms: number) => ({ approvers: { escalation: { afterMs: ms, to: { roles: ["admin"] } } } }),
  ],
  ["limits.workedMs", (ms: number) => ({ limits: { workedMs: ms } })],
])("%s is at most ten years, so that what it ends at is a moment", (field, partOf) => {
  const part = partOf(tenYearsMs);
  expect(parseDefinition({ ...least, ...part }, tools)).toMatchObject(part);
  for (const ms of [tenYearsMs + 1, Number.MAX_SAFE_INTEGER]) {
    const message = messageOf(() => parseDefinition({ ...least, ...partOf(ms) }, tools));
    expect(message).toContain("is longer than ten years");
    expect(message).toContain(`at ${field}`);
  }
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  throw new Error("nothing was thrown");
}

test("a run is granted what its tools require, each once, narrowed by caps", () => {
  const all = definitionSpec.parse({ ...least, toolset: ["look", "post", "send"] });
  expect(grantsOf(all, tools)).toEqual(["mail.send", "web.post"]);
  expect(grantsOf({ ...all, caps: ["web.post"] }, tools)).toEqual(["web.post"]);
  expect(grantsOf({ ...all, caps: [] }, tools)).toEqual([]);
  expect(grantsOf({ ...all, toolset: ["look"] }, tools)).toEqual([]);
});

test("a version is loaded once, also by many at once; one that could not be loaded is tried again", async () => {
  const world = await makeWorld(sql, least);
  const load = createDefinitions(sql);
  const [one, other] = await Promise.all([load(world.definitionId, 1), load(world.definitionId, 1)]);
  expect(one).toBe(other);
  await expect(load(world.definitionId, 2)).rejects.toMatchObject({ code: "unknown_definition" });
  await sql`insert into definition_versions (definition_id, version, spec) select definition_id, 2, spec from definition_versions where definition_id = ${world.definitionId}`;
  expect(await load(world.definitionId, 2)).toEqual(one);
});
