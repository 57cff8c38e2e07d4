import { createHash } from "node:crypto";
import { blocksOf, type RequestBody } from "./check-request.ts";

/** What one request is charged for, as the API's `usage` names it. */
export interface Counted {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
}

const charsPerToken = 4;

/** Tokens of a value: a quarter of its characters. */
export function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / charsPerToken);
}

/** All that `counts` were charged for. */
export function sumOf(counts: readonly Counted[]): Counted {
  const sum = (of: (counted: Counted) => number) => counts.reduce((total, counted) => total + of(counted), 0);
  return {
    input_tokens: sum((counted) => counted.input_tokens),
    cache_creation_input_tokens: sum((counted) => counted.cache_creation_input_tokens),
    cache_read_input_tokens: sum((counted) => counted.cache_read_input_tokens),
    output_tokens: sum((counted) => counted.output_tokens),
  };
}

/**
 * A prompt cache: what lies before a mark is read where a request before had the same up to a mark of its own, within 20
 * blocks, as in the API; what lies between that and the last mark is written.
 */
export function createCache(): (body: RequestBody) => Omit<Counted, "output_tokens"> {
  const cached = new Set<string>();
  const lookBack = 20;

  return ({ tools = [], system = [], messages }) => {
    const blocks: object[] = [...tools, ...system, ...blocksOf(messages)];
    const prefix = createHash("sha256");
    const keys = blocks.map((block) => {
      const { cache_control: _, ...plain } = block as Record<string, unknown>;
      return prefix.update(JSON.stringify(plain)).copy().digest("hex");
    });
    const tokensUpTo = (end: number): number =>
      blocks.slice(0, end).reduce((sum: number, block) => sum + tokensOf(block), 0);
    const marks = blocks.flatMap((block, index) => ("cache_control" in block ? [index] : []));
    const hits = marks.flatMap((mark) => {
      const from = Math.max(mark - lookBack, 0);
      const hit = keys.slice(from, mark + 1).findLastIndex((key) => cached.has(key));
      return hit === -1 ? [] : [from + hit + 1];
    });
    const read = tokensUpTo(Math.max(0, ...hits));
    const marked = tokensUpTo((marks.at(-1) ?? -1) + 1);
    for (const mark of marks) cached.add(keys[mark] ?? "");
    return {
      cache_read_input_tokens: read,
      cache_creation_input_tokens: marked - read,
      input_tokens: tokensUpTo(blocks.length) - marked,
    };
  };
}
