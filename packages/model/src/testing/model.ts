import type { Block, Delta, Message, Model, ModelRequest } from "@countersign/engine/model.ts";
import { onTestFinished } from "vitest";
import { type AnthropicOptions, createAnthropicModel, type ModelEvent } from "../anthropic.ts";
import { type MessagesServer, type Script, startMessagesServer } from "./messages-server.ts";

export const testKey = "sk-ant-test-0123456789";

/** Prices that no two kinds of token share, so that a count in the wrong place shows. */
export const testPrices = {
  inputMicros: 3_000_000,
  outputMicros: 15_000_000,
  cacheWriteMicros: 3_750_000,
  cacheReadMicros: 300_000,
};

export interface TestModel {
  readonly server: MessagesServer;
  readonly model: Model;
  readonly events: ModelEvent[];
}

/** The model under test and the server that it asks, which is closed when the test ends. Waits are short. */
export async function aTestModel(script: Script, over: Partial<AnthropicOptions> = {}): Promise<TestModel> {
  const server = await startMessagesServer(testKey, script);
  onTestFinished(() => server.close());
  const events: ModelEvent[] = [];
  const model = createAnthropicModel({
    baseUrl: server.url,
    withKey: (_request, body) => body(testKey),
    models: new Map([["claude-test", { prices: testPrices, thinking: { type: "adaptive" } }]]),
    retry: { forMs: 5_000, firstMs: 1, maxMs: 20 },
    report: (event) => events.push(event),
    ...over,
  });
  return { server, model, events };
}

/** A request with one message and one tool. */
export function aRequest(over: Partial<ModelRequest> = {}): ModelRequest {
  return {
    workspaceId: "workspace",
    runId: "run",
    definition: "agent",
    model: "claude-test",
    system: "be brief",
    messages: [user(text("please do"))],
    tools: [{ name: "kb.read", description: "reads", inputSchema: { type: "object" } }],
    maxOutputTokens: 500,
    ...over,
  };
}

export const text = (said: string): Block => ({ type: "text", text: said });
export const user = (...content: readonly Block[]): Message => ({ role: "user", content });
export const assistant = (...content: readonly Block[]): Message => ({ role: "assistant", content });

/** The result of a tool use. */
export function resultOf(toolUseId: string, content = "seen"): Block {
  return { type: "tool_result", toolUseId, content, isError: false, code: null };
}

/** Collects what a model says as it says it. */
export function listen(): { deltas: Delta[]; onDelta: (delta: Delta) => void } {
  const deltas: Delta[] = [];
  return { deltas, onDelta: (delta) => deltas.push(delta) };
}
