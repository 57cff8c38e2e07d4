import type { ThinkingConfigParam } from "@anthropic-ai/sdk/resources/messages";

/** Prices in millionths of the currency per million tokens. */
export interface Prices {
  readonly inputMicros: number;
  readonly outputMicros: number;
  readonly cacheWriteMicros: number;
  readonly cacheReadMicros: number;
}

/** What the configuration says of one model; every part may be missing. */
export interface ModelFacts {
  readonly prices?: Prices;
  /** Passed on as it is; absent, the model's own default. */
  readonly thinking?: ThinkingConfigParam;
}

/** Tokens of one reply, as the provider counted them. */
export interface TokenCounts {
  /** Neither written to the cache nor read from it. */
  readonly input: number;
  readonly output: number;
  readonly cacheWrite: number;
  readonly cacheRead: number;
}

/** What a reply costs, in millionths, to the nearest one. */
export function costMicrosOf(tokens: TokenCounts, prices: Prices): number {
  const millionfold =
    tokens.input * prices.inputMicros +
    tokens.output * prices.outputMicros +
    tokens.cacheWrite * prices.cacheWriteMicros +
    tokens.cacheRead * prices.cacheReadMicros;
  return Math.round(millionfold / 1_000_000);
}
