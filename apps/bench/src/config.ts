import { resolve } from "node:path";
import { z } from "zod";

const schema = z.object({
  ABSURD_SQL: z.string().min(1).optional().describe("The file sql/absurd.sql of earendil-works/absurd"),
  BENCH_ROUNDS: z.coerce.number().int().min(1).max(100).default(5).describe("Rounds; the median counts"),
  BENCH_WINDOW_MS: z.coerce.number().int().min(100).max(60_000).default(3_000).describe("How long each measures"),
  BENCH_LEVELS: z
    .string()
    .default("1,16,64,256")
    .transform((list) => list.split(",").map(Number))
    .pipe(z.array(z.int().min(1).max(512)).min(1))
    .describe("Runs at a time"),
  BENCH_RUNS: z.coerce.number().int().min(1_000).max(10_000_000).default(1_000_000).describe("Paused runs to load"),
});

export interface BenchConfig {
  readonly absurdSql: string | undefined;
  readonly rounds: number;
  readonly windowMs: number;
  readonly levels: readonly number[];
  readonly pausedRuns: number;
  /** For the server's process, which is given the rest beside it. */
  readonly environment: NodeJS.ProcessEnv;
}

/** The configuration of this process; an empty variable counts as absent. Throws a ZodError with every problem. */
export function readConfig(): BenchConfig {
  const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ""));
  const env = schema.parse(given);
  return Object.freeze({
    absurdSql: env.ABSURD_SQL === undefined ? undefined : resolve(env.ABSURD_SQL),
    rounds: env.BENCH_ROUNDS,
    windowMs: env.BENCH_WINDOW_MS,
    levels: env.BENCH_LEVELS,
    pausedRuns: env.BENCH_RUNS,
    environment: process.env,
  });
}
