/** A block of a message as the conversation has it. Arguments of a tool use are the exact JSON text the model wrote. */
export type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly argsText: string }
  | {
      readonly type: "tool_result";
      readonly toolUseId: string;
      readonly content: string;
      readonly isError: boolean;
      /** Why the call has no ordinary result; one of a closed set. */
      readonly code: string | null;
    }
  /** What only its provider can read (thinking, signed): kept as the exact JSON it came as, and given back in its place. */
  | { readonly type: "opaque"; readonly provider: string; readonly json: string };

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

/** A tool as the model is told of it. */
export interface AdvertisedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: unknown;
}

export interface ModelRequest {
  /** Set where it is no turn of the conversation; a classifier is asked for one word, with no thinking before it. */
  readonly purpose?: "classifier";
  readonly workspaceId: string;
  readonly runId: string;
  /** The name of the definition that asks. */
  readonly definition: string;
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly AdvertisedTool[];
  readonly maxOutputTokens: number;
}

export interface ModelReply {
  readonly content: readonly Extract<Block, { type: "text" | "tool_use" | "opaque" }>[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly costMicros: number };
}

/**
 * What comes of a reply while it is still being said. `started`: it is said from its beginning, whatever came before;
 * `retried`: it did not come, why, and it is asked for again.
 */
export type Delta =
  | { readonly kind: "started" }
  | { readonly kind: "retried"; readonly reason: string }
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | { readonly kind: "tool_use"; readonly tool: string };

/**
 * Asks a model for the next turn. Rejects when it cannot be had; `signal` aborts the request. A model that streams tells
 * `onDelta` what it says as it says it; only what it resolves with counts.
 */
export type Model = (
  request: ModelRequest,
  signal: AbortSignal,
  onDelta?: (delta: Delta) => void,
) => Promise<ModelReply>;
