import { resolve } from "node:path";
import { chooseDataDir } from "@countersign/broker/data-dir.ts";
import type { Environment } from "@countersign/broker/environment.ts";
import { listOf, readEnvironment, unusable } from "@countersign/db/read-environment.ts";
import { withoutPreparing } from "@countersign/db/without-preparing.ts";
import type { EmbeddingsSettings } from "@countersign/kb/embeddings.ts";
import { chooseEmbeddings } from "@countersign/kb/embeddings-settings.ts";
import { chooseOsExec, type OsExecOptions } from "@countersign/tools/os-exec.ts";
import { z } from "zod";

const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const databaseUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: "expected postgres://user:password@host/database",
});

function whole(least: number, most: number) {
  return z.coerce.number({ error: "expected a number" }).int().min(least).max(most);
}

const schema = z
  .object({
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: databaseUrl.optional(),
    DATABASE_PREPARE: z.enum(["true", "false"], { error: "expected true or false" }).default("true"),
    DATABASE_SILENT_MS: whole(1_000, 3_600_000).default(60_000),
    PROVIDERS: z.literal("fake", { error: "expected fake, or nothing" }).optional(),
    ANTHROPIC_BASE_URL: z
      .url({ protocol: /^https?$/, error: "expected https://host" })
      .default("https://api.anthropic.com"),
    COUNTERSIGN_MODELS: z.string().min(1).optional(),
    COUNTERSIGN_DATA: z.string().min(1).optional(),
    COUNTERSIGN_WORKSPACE: z.uuid({ error: "expected the id of a workspace" }).optional(),
    COUNTERSIGN_TOOLS: z.string().default(""),
    COUNTERSIGN_POLICY: z.string().min(1).optional(),
    COUNTERSIGN_OS_EXEC: z.enum(["0", "1", "same-user"]).optional(),
    COUNTERSIGN_OS_EXEC_ENV: z.string().default(""),
    COUNTERSIGN_EMBEDDINGS_URL: z.string().optional(),
    COUNTERSIGN_EMBEDDINGS_MODEL: z.string().optional(),
    COUNTERSIGN_EMBEDDINGS_KEY: z.string().optional(),
    WORKER_CAPACITY: whole(1, 10_000).default(64),
    LEASE_MS: whole(1_000, 3_600_000).default(30_000),
    RENEW_MS: whole(100, 3_600_000).default(10_000),
    SWEEP_MS: whole(50, 3_600_000).default(1_000),
    POLL_MS: whole(50, 3_600_000).default(1_000),
    MAX_CLAIMS: whole(1, 1_000).default(5),
    WEBHOOK_PRIVATE_TARGETS: z.literal("1", { error: "expected 1, or nothing" }).optional(),
    METRICS_PORT: whole(1, 65_535).optional(),
    SHUTDOWN_GRACE_MS: whole(0, 3_600_000).default(10_000),
    LOG_LEVEL: z.enum(levels).default("info"),
  })
  .refine(({ LEASE_MS, RENEW_MS }) => RENEW_MS * 2 <= LEASE_MS, {
    path: ["RENEW_MS"],
    error: "expected at most half of LEASE_MS, so that one renewal may fail",
  })
  .superRefine((given, context) => {
    const choice = chooseEmbeddings(given);
    for (const { variable, message } of choice.kind === "refused" ? choice.problems : [])
      context.addIssue({ code: "custom", path: [variable], message });
  });

/** Durations in milliseconds. */
export interface WorkerConfig {
  readonly databaseUrl: string;
  /** Past any pooler: LISTEN needs a session of its own. The same as `databaseUrl` unless set. */
  readonly databaseDirectUrl: string;
  readonly databaseSilentMs: number;
  /** `fake` plays scripted scenarios; undefined asks Claude. */
  readonly providers: "fake" | undefined;
  readonly anthropicBaseUrl: string;
  /** Prices and context sizes by model, absolute; undefined where none are known. */
  readonly modelsFile: string | undefined;
  /** Holds the key that opens secrets. */
  readonly dataDir: string;
  /** Which workspace's secrets the environment holds; the oldest's where undefined. */
  readonly seedWorkspaceId: string | undefined;
  /** Everything that was set. */
  readonly environment: Environment;
  /** Modules of tools and files that declare HTTP tools, absolute. */
  readonly toolFiles: readonly string[];
  /** What the whole installation's layer of policy says, absolute; undefined leaves it as it is. */
  readonly policyFile: string | undefined;
  /** What commands may run as and see; undefined where `os.exec` is not offered. */
  readonly osExec: OsExecOptions | undefined;
  /** Where vectors of pages come from; undefined where there are none. */
  readonly embeddings?: EmbeddingsSettings | undefined;
  readonly capacity: number;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly sweepMs: number;
  readonly pollMs: number;
  readonly maxClaims: number;
  readonly graceMs: number;
  /** Webhooks may go to plain HTTP and private addresses. */
  readonly mayWebhooksBePrivate: boolean;
  /** Where the metrics are served, on this machine alone; undefined for nowhere. */
  readonly metricsPort: number | undefined;
  readonly logLevel: (typeof levels)[number];
}

/**
 * Reads the worker's configuration from environment variables. An empty variable counts as absent. The result is frozen.
 * Throws ConfigError with all problems at once.
 */
export function parseConfig(environment: NodeJS.ProcessEnv): WorkerConfig {
  const env = readEnvironment(schema, environment, "worker");
  const address = env.DATABASE_PREPARE === "true" ? env.DATABASE_URL : withoutPreparing(env.DATABASE_URL);
  const exec = chooseOsExec(env.COUNTERSIGN_OS_EXEC, env.PROVIDERS === "fake");
  if (exec.kind === "refused") throw unusable("worker", [exec.message]);
  const embeddings = chooseEmbeddings(env);
  return Object.freeze({
    databaseUrl: address,
    databaseDirectUrl: env.DATABASE_DIRECT_URL ?? address,
    databaseSilentMs: env.DATABASE_SILENT_MS,
    providers: env.PROVIDERS,
    anthropicBaseUrl: env.ANTHROPIC_BASE_URL,
    modelsFile: env.COUNTERSIGN_MODELS === undefined ? undefined : resolve(env.COUNTERSIGN_MODELS),
    dataDir: chooseDataDir(env.COUNTERSIGN_DATA),
    seedWorkspaceId: env.COUNTERSIGN_WORKSPACE,
    environment,
    toolFiles: listOf(env.COUNTERSIGN_TOOLS).map((path) => resolve(path)),
    policyFile: env.COUNTERSIGN_POLICY === undefined ? undefined : resolve(env.COUNTERSIGN_POLICY),
    osExec:
      exec.kind === "off"
        ? undefined
        : { user: exec.user, environment, envAllowlist: listOf(env.COUNTERSIGN_OS_EXEC_ENV) },
    embeddings: embeddings.kind === "on" ? embeddings.settings : undefined,
    capacity: env.WORKER_CAPACITY,
    leaseMs: env.LEASE_MS,
    renewMs: env.RENEW_MS,
    sweepMs: env.SWEEP_MS,
    pollMs: env.POLL_MS,
    maxClaims: env.MAX_CLAIMS,
    graceMs: env.SHUTDOWN_GRACE_MS,
    mayWebhooksBePrivate: env.WEBHOOK_PRIVATE_TARGETS === "1",
    metricsPort: env.METRICS_PORT,
    logLevel: env.LOG_LEVEL,
  });
}

/** The configuration of this process. */
export function readConfig(): WorkerConfig {
  return parseConfig(process.env);
}
