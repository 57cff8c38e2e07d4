import { resolve } from "node:path";
import { chooseDataDir } from "@countersign/broker/data-dir.ts";
import { listOf, readEnvironment } from "@countersign/db/read-environment.ts";
import { withoutPreparing } from "@countersign/db/without-preparing.ts";
import type { EmbeddingsSettings } from "@countersign/kb/embeddings.ts";
import { chooseEmbeddings } from "@countersign/kb/embeddings-settings.ts";
import { canSwitchUser } from "@countersign/tools/exec-user.ts";
import { chooseOsExec, type OsExecOptions } from "@countersign/tools/os-exec.ts";
import { z } from "zod";
import type { OidcConfig } from "./oidc.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Where it is no number at all; without it the message would speak of NaN. */
const numeric = { error: "expected a number" };

const schema = z
  .object({
    DATABASE_URL: z
      .url({ protocol: /^postgres(ql)?$/, error: "expected postgres://user:password@host/database" })
      .describe("Where the database is"),
    DATABASE_DIRECT_URL: z
      .url({ protocol: /^postgres(ql)?$/, error: "expected postgres://user:password@host/database" })
      .optional()
      .describe("The same past any pooler, for hearing at once what changed"),
    DATABASE_PREPARE: z
      .enum(["true", "false"], { error: "expected true or false" })
      .default("true")
      .describe("false behind a pooler that cannot keep prepared statements, such as PgBouncer before 1.21"),
    DATABASE_SILENT_MS: z.coerce
      .number(numeric)
      .int()
      .min(1_000)
      .max(3_600_000)
      .default(60_000)
      .describe("How long a connection may carry nothing before it counts as lost"),
    HOST: z.string().min(1).default("127.0.0.1").describe("The address to listen on"),
    PORT: z.coerce.number(numeric).int().min(0).max(65_535).default(7070).describe("0 takes a free port"),
    PUBLIC_URL: z
      .url({ protocol: /^https?$/, error: "expected http://… or https://…" })
      .optional()
      .describe("Where browsers reach the server, if not at 127.0.0.1 or localhost"),
    COUNTERSIGN_DATA: z
      .string()
      .optional()
      .describe("The folder in which the worker leaves the public key that secrets are sealed to"),
    BROKER_PUBLIC_KEY: z
      .string()
      .optional()
      .describe("That key itself, as a JWK, where server and worker share no folder"),
    COUNTERSIGN_TOOLS: z
      .string()
      .optional()
      .describe("Modules of tools and files that declare HTTP tools, separated by commas; the same as the worker's"),
    COUNTERSIGN_POLICY: z
      .string()
      .optional()
      .describe("A file with the whole installation's layer of policy; the same as the worker's"),
    COUNTERSIGN_OS_EXEC: z.enum(["0", "1", "same-user"]).optional().describe("As the worker has it"),
    COUNTERSIGN_EMBEDDINGS_URL: z.string().optional().describe("An OpenAI-compatible endpoint; needs a model"),
    COUNTERSIGN_EMBEDDINGS_MODEL: z
      .string()
      .optional()
      .describe("Whose vectors a search goes by; as the worker has it"),
    COUNTERSIGN_EMBEDDINGS_KEY: z.string().optional().describe("With which the endpoint lets us in, where it asks"),
    PROVIDERS: z.literal("fake").optional().describe("As the worker has it"),
    OIDC_ISSUER: z
      .url({ protocol: /^https?$/, error: "expected the provider's issuer, https://…" })
      .optional()
      .describe("An identity provider people may sign in through; needs the two below"),
    OIDC_CLIENT_ID: z.string().optional().describe("What this server is called there"),
    OIDC_CLIENT_SECRET: z.string().optional().describe("With which it shows that it is it"),
    RATE_PER_SECOND: z.coerce
      .number(numeric)
      .positive()
      .max(1e6)
      .default(50)
      .describe("Requests of one account, for long"),
    RATE_BURST: z.coerce
      .number(numeric)
      .int()
      .min(1)
      .max(1e6)
      .default(500)
      .describe("Requests of one account, at once"),
    WEBHOOK_PRIVATE_TARGETS: z
      .literal("1", { error: "expected 1, or nothing" })
      .optional()
      .describe("Webhooks may go to plain HTTP and private addresses"),
    FILES_MAX_MB: z.coerce
      .number(numeric)
      .int()
      .min(1)
      .max(4_096)
      .default(64)
      .describe("The largest file that may be uploaded"),
    LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
  })
  .superRefine((given, context) => {
    const embeddings = chooseEmbeddings(given);
    for (const { variable, message } of embeddings.kind === "refused" ? embeddings.problems : [])
      context.addIssue({ code: "custom", path: [variable], message });
    const names = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] as const;
    if (names.every((name) => given[name] === undefined)) return;
    for (const name of names.filter((missing) => given[missing] === undefined)) {
      context.addIssue({ code: "custom", path: [name], message: "goes with the other OIDC_ variables" });
    }
  });

export interface ServerConfig {
  readonly databaseUrl: string;
  /** Past any pooler: LISTEN needs a session of its own. */
  readonly databaseDirectUrl?: string | undefined;
  readonly databaseSilentMs?: number;
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | undefined;
  /** Absolute. */
  readonly dataDir: string;
  /** A JWK; taken before the folder's. */
  readonly brokerPublicKey: string | undefined;
  /** Absolute; the tools in them are described here and run by the worker. */
  readonly toolFiles?: readonly string[] | undefined;
  /** Absolute; undefined leaves the installation's layer of policy as it is. */
  readonly policyFile?: string | undefined;
  /** Set where `os.exec` is described. */
  readonly osExec?: OsExecOptions | undefined;
  /** Set where a search goes by vectors too. */
  readonly embeddings?: EmbeddingsSettings | undefined;
  /** Set where people may sign in through an identity provider. */
  readonly oidc?: OidcConfig | undefined;
  readonly rateLimit: RateLimit;
  readonly mayWebhooksBePrivate: boolean;
  readonly mostFileBytes: number;
  readonly logLevel: z.infer<typeof schema>["LOG_LEVEL"];
}

/**
 * Reads the server's configuration from environment variables. An empty variable counts as absent. The result is frozen.
 * Throws ConfigError with all problems at once.
 */
export function parseConfig(environment: NodeJS.ProcessEnv): ServerConfig {
  const { DATABASE_URL, HOST, PORT, PUBLIC_URL, LOG_LEVEL, ...more } = readEnvironment(schema, environment, "server");
  const embeddings = chooseEmbeddings(more);
  return Object.freeze({
    databaseUrl: more.DATABASE_PREPARE === "true" ? DATABASE_URL : withoutPreparing(DATABASE_URL),
    databaseDirectUrl: more.DATABASE_DIRECT_URL,
    databaseSilentMs: more.DATABASE_SILENT_MS,
    host: HOST,
    port: PORT,
    publicUrl: PUBLIC_URL,
    dataDir: chooseDataDir(more.COUNTERSIGN_DATA),
    brokerPublicKey: more.BROKER_PUBLIC_KEY,
    toolFiles: listOf(more.COUNTERSIGN_TOOLS).map((path) => resolve(path)),
    policyFile: more.COUNTERSIGN_POLICY === undefined ? undefined : resolve(more.COUNTERSIGN_POLICY),
    osExec: describedOsExec(more),
    embeddings: embeddings.kind === "on" ? embeddings.settings : undefined,
    oidc: oidcOf(more),
    rateLimit: { perSecond: more.RATE_PER_SECOND, burst: more.RATE_BURST },
    mayWebhooksBePrivate: more.WEBHOOK_PRIVATE_TARGETS === "1",
    mostFileBytes: more.FILES_MAX_MB * 1024 * 1024,
    logLevel: LOG_LEVEL,
  });
}

function oidcOf({
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: clientId,
  OIDC_CLIENT_SECRET: clientSecret,
}: Partial<z.infer<typeof schema>>): OidcConfig | undefined {
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret };
}

/** Commands run in the worker, which may be root where this is not; here it matters only whether they are offered, and as whom. */
function describedOsExec({
  COUNTERSIGN_OS_EXEC: setting,
  PROVIDERS,
}: Pick<z.infer<typeof schema>, "COUNTERSIGN_OS_EXEC" | "PROVIDERS">): OsExecOptions | undefined {
  const choice = chooseOsExec(setting, PROVIDERS === "fake", setting === "1" || canSwitchUser());
  return choice.kind === "on" ? { user: choice.user, environment: {} } : undefined;
}

/** The configuration of this process; see `parseConfig`. */
export function readConfig(): ServerConfig {
  return parseConfig(process.env);
}
