import { v7 as uuidv7 } from "uuid";
import { EngineError } from "./engine-error.ts";
import type { Block, Message, Model, ModelReply, ModelRequest } from "./model.ts";
import { findProviderProblem } from "./provider-problem.ts";

/** What a scenario says in one turn. */
export interface Line {
  readonly say?: string;
  readonly use?: readonly { readonly tool: string; readonly args: unknown }[];
}

/** What a scenario can see: the conversation it is given, and nothing else. */
export interface Stage {
  readonly request: ModelRequest;
  /** How many times the model has spoken. */
  readonly turn: number;
  /** The texts of the user, in order, steers included. */
  readonly said: readonly string[];
  /** The results of every tool use so far, in order. */
  readonly results: readonly {
    readonly tool: string;
    readonly content: string;
    readonly isError: boolean;
    readonly code: string | null;
  }[];
}

/** A named script that answers from the conversation, so that it survives a restart in the middle like a real model. */
export type Scenario = (stage: Stage) => Line;

/**
 * A model that plays scenarios, chosen by the name of the definition that asks; asked as a classifier it says what
 * `classify` does, and unless stated that everything is risky. It refuses what a provider would refuse,
 * and its replies pass the same checks as a provider's. Tokens are counted as a quarter of the characters. `advice` is
 * what to do where a definition has no scenario, in whole sentences.
 */
export function createScriptedModel(
  scenarios: Readonly<Record<string, Scenario>>,
  classify: (prompt: string) => string = () => "high-risk",
  advice = "",
): Model {
  const byName = new Map(Object.entries(scenarios));
  return async (request, signal) => {
    signal.throwIfAborted();
    if (request.purpose === "classifier") return replyOf({ say: classify(stageOf(request).said.join("\n")) }, request);
    const scenario = byName.get(request.definition);
    if (scenario === undefined) {
      const known = [...byName.keys()].join(", ");
      throw new EngineError(
        "unknown_scenario",
        `The scripted model has no scenario named ${JSON.stringify(request.definition)}; it has: ${known}.${advice === "" ? "" : ` ${advice}`}`,
      );
    }
    const problem = findProviderProblem(request.messages);
    if (problem !== undefined)
      throw new EngineError("invalid_prompt", `The scripted model refuses the conversation: ${problem}`);
    return replyOf(scenario(stageOf(request)), request);
  };
}

function stageOf(request: ModelRequest): Stage {
  const blocks = (role: Message["role"]): Block[] =>
    request.messages.filter((message) => message.role === role).flatMap(({ content }) => content);
  const nameOf = new Map(
    blocks("assistant").flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name] as const] : [])),
  );
  return {
    request,
    turn: request.messages.filter((message) => message.role === "assistant").length,
    said: blocks("user").flatMap((block) => (block.type === "text" ? [block.text] : [])),
    results: blocks("user").flatMap((block) =>
      block.type === "tool_result"
        ? [
            {
              tool: nameOf.get(block.toolUseId) ?? "",
              content: block.content,
              isError: block.isError,
              code: block.code,
            },
          ]
        : [],
    ),
  };
}

function replyOf({ say, use = [] }: Line, request: ModelRequest): ModelReply {
  const content: ModelReply["content"] = [
    ...(say === undefined ? [] : [{ type: "text" as const, text: say }]),
    ...use.map(({ tool, args }) => ({
      type: "tool_use" as const,
      id: `toolu_${uuidv7()}`,
      name: tool,
      argsText: JSON.stringify(args),
    })),
  ];
  return {
    content,
    usage: { inputTokens: tokensOf(request.messages), outputTokens: tokensOf(content), costMicros: 0 },
  };
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}
