import { readFile } from "node:fs/promises";
import { ConfigError } from "@countersign/db/read-environment.ts";
import { BrokerError } from "@countersign/broker/broker-error.ts";
import { type ProcessSecrets, SecretMissing } from "@countersign/broker/process-secrets.ts";
import { CapabilityRefused, type Engine } from "@countersign/engine/engine.ts";
import type { Model } from "@countersign/engine/model.ts";
import { createScriptedModel } from "@countersign/engine/scripted-model.ts";
import { createAnthropicModel, type ModelEvent } from "@countersign/model/anthropic.ts";
import { z } from "zod";
import type { WorkerConfig } from "./config.ts";
import { registry } from "./scenarios.ts";

/** Where turns come from. */
export interface Provider {
  readonly model: Model;
  readonly contextTokensOf?: NonNullable<Engine["contextTokensOf"]>;
}

/** What a provider is made with: keys are lent by the worker's own broker, request by request. */
export interface ProviderParts {
  readonly secrets: ProcessSecrets;
  readonly report: (event: ModelEvent) => void;
}

export type MakeProvider = (parts: ProviderParts) => Provider;

/** What to do with a definition that no script plays. */
const noScenario =
  "Scripts play here because PROVIDERS is fake, or because dev found no key. For Claude set ANTHROPIC_API_KEY and start again, without PROVIDERS. To see what a tool does without a model: ./countersign explain --tool <name> --args <json>, or openTestKit in a test. A script of this name can be added in apps/worker/src/scenarios.ts.";

/** How long the model is asked again over what passes. */
const retry = { forMs: 300_000, firstMs: 1_000, maxMs: 60_000 };

const micros = z.int().nonnegative();

/** By the name a definition gives: prices in millionths of the currency per million tokens, and the context in tokens. */
const modelsFile = z.record(
  z.string(),
  z.strictObject({
    contextTokens: z.int().positive().optional(),
    prices: z
      .strictObject({ inputMicros: micros, outputMicros: micros, cacheWriteMicros: micros, cacheReadMicros: micros })
      .optional(),
    thinking: z
      .discriminatedUnion("type", [
        z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1_024) }),
        z.strictObject({ type: z.enum(["adaptive", "disabled"]) }),
      ])
      .optional(),
  }),
);

/**
 * The provider of this worker's models: scripted scenarios, or Claude with the workspace's own key. Throws ConfigError
 * where the file of models cannot be used, naming what is wrong in it.
 */
export async function chooseProvider(config: WorkerConfig): Promise<MakeProvider> {
  if (config.providers === "fake") return () => ({ model: createScriptedModel(registry, undefined, noScenario) });
  const facts = config.modelsFile === undefined ? {} : await readModels(config.modelsFile);
  const known = new Map(Object.entries(facts));
  const models = new Map(
    Object.entries(facts).map(([name, { prices, thinking }]) => [
      name,
      { ...(prices === undefined ? {} : { prices }), ...(thinking === undefined ? {} : { thinking }) },
    ]),
  );
  return ({ secrets, report }) => ({
    model: createAnthropicModel({
      baseUrl: config.anthropicBaseUrl,
      withKey: ({ workspaceId }, body) => lendKey(secrets, workspaceId, body),
      models,
      retry,
      report,
    }),
    contextTokensOf: (model) => known.get(model)?.contextTokens,
  });
}

async function lendKey<T>(secrets: ProcessSecrets, workspaceId: string, body: (key: string) => Promise<T>): Promise<T> {
  try {
    return await secrets.use({ workspaceId, capability: "llm.anthropic" }, body);
  } catch (error) {
    if (error instanceof SecretMissing || error instanceof BrokerError)
      throw new CapabilityRefused(error.message, { cause: error });
    throw error;
  }
}

async function readModels(path: string): Promise<z.infer<typeof modelsFile>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError(`COUNTERSIGN_MODELS names ${path}, which cannot be read. Correct the path, or unset it.`, {
      cause: error,
    });
  }
  const parsed = z
    .string()
    .transform((json, context) => {
      try {
        return JSON.parse(json) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "it is not JSON" });
        return z.NEVER;
      }
    })
    .pipe(modelsFile)
    .safeParse(text);
  if (parsed.success) return parsed.data;
  throw new ConfigError(`The file of models ${path} cannot be used:\n${z.prettifyError(parsed.error)}`);
}
