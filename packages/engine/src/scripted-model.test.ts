import { expect, test } from "vitest";
import type { Message, ModelRequest } from "./model.ts";
import { createScriptedModel, type Stage } from "./scripted-model.ts";

const { signal } = new AbortController();

function aRequest(messages: readonly Message[], over: Partial<ModelRequest> = {}): ModelRequest {
  return {
    workspaceId: "workspace",
    runId: "run",
    definition: "agent",
    model: "scripted",
    system: "",
    messages,
    tools: [],
    maxOutputTokens: 1,
    ...over,
  };
}

const conversation: readonly Message[] = [
  { role: "user", content: [{ type: "text", text: "do" }] },
  {
    role: "assistant",
    content: [
      { type: "text", text: "well" },
      { type: "tool_use", id: "a", name: "look", argsText: "{}" },
    ],
  },
  {
    role: "user",
    content: [
      { type: "tool_result", toolUseId: "a", content: "seen", isError: true, code: "timeout" },
      { type: "text", text: "hurry" },
    ],
  },
];

test("a scenario sees the conversation and nothing else: turn, what was said, each result with its tool", async () => {
  let seen: Stage | undefined;
  const model = createScriptedModel({
    agent: (stage) => {
      seen = stage;
      return { say: "ok" };
    },
  });
  await model(aRequest(conversation), signal);
  expect(seen).toMatchObject({
    turn: 1,
    said: ["do", "hurry"],
    results: [{ tool: "look", content: "seen", isError: true, code: "timeout" }],
  });
});

test("a definition without a scenario fails with those that there are, and what to do", async () => {
  const model = createScriptedModel({ greeter: () => ({ say: "hi" }) }, undefined, "Set a key.");
  await expect(model(aRequest(conversation), signal)).rejects.toMatchObject({
    code: "unknown_scenario",
    message: 'The scripted model has no scenario named "agent"; it has: greeter. Set a key.',
  });
});

test("a line becomes blocks with ids of their own and counted tokens", async () => {
  const model = createScriptedModel({
    agent: () => ({
      say: "hi",
      use: [
        { tool: "a", args: { b: 1 } },
        { tool: "a", args: null },
      ],
    }),
  });
  const { content, usage } = await model(aRequest(conversation), signal);
  expect(content).toMatchObject([
    { type: "text", text: "hi" },
    { type: "tool_use", name: "a", argsText: '{"b":1}' },
    { type: "tool_use", name: "a", argsText: "null" },
  ]);
  const ids = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  expect(new Set(ids).size).toBe(2);
  expect(usage.inputTokens).toBeGreaterThan(50);
});

test("it refuses an unknown scenario, also one named like a property of every object, and a conversation that a provider would refuse", async () => {
  const model = createScriptedModel({ agent: () => ({}) });
  for (const definition of ["other", "constructor"])
    await expect(model(aRequest(conversation, { definition }), signal)).rejects.toMatchObject({
      code: "unknown_scenario",
    });
  await expect(model(aRequest(conversation.slice(0, 2)), signal)).rejects.toMatchObject({ code: "invalid_prompt" });
  await expect(model(aRequest(conversation), AbortSignal.abort())).rejects.toThrow("aborted");
});
