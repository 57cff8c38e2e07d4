import type { BrokerPublicKey } from "@countersign/broker/public-key.ts";
import type { Sql } from "@countersign/db/connect.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import type { Questions } from "@countersign/kb/questions.ts";
import type { HttpBindings } from "@hono/node-server";
import type { Logger } from "pino";
import type { Actor } from "./auth.ts";
import type { Events } from "./events/events.ts";
import type { Oidc } from "./oidc.ts";
import type { Pages } from "./pages.ts";
import type { RateLimit } from "./rate-limit.ts";

/** What the routes work with. */
export interface ServerDependencies {
  readonly sql: Sql;
  readonly commit: Committer;
  /** Tells idle workers that something may have become ready. */
  readonly ring: () => void;
  /** Every registered tool, for what a definition may be granted. */
  readonly tools: Tools;
  /** The key that secrets are sealed to; asked for with each, since the worker may make another. Throws BrokerError. */
  readonly sealingKey: () => Promise<BrokerPublicKey>;
  /** What one account may send; absent, anything. */
  readonly rateLimit?: RateLimit | undefined;
  readonly log: Logger;
  /** Webhooks may go to plain HTTP and private addresses, for an installation that talks within its own network. */
  readonly mayWebhooksBePrivate?: boolean | undefined;
  /** The largest file that may be uploaded, in bytes. */
  readonly mostFileBytes?: number | undefined;
  /** What changes in the database, for streams; absent, it is found by polling alone. */
  readonly events?: Events | undefined;
  /** A search goes by vectors too; absent, by words alone. */
  readonly questions?: Questions | undefined;
  /** People may sign in through it. */
  readonly oidc?: Oidc | undefined;
  /** The web app; absent, there is the HTTP interface alone. */
  readonly pages?: Pages | undefined;
  /** Names under which the server may be reached besides the loopback ones, with the port where it is not the default. */
  readonly publicUrl?: string | undefined;
  /** Aborted when the server is about to stop, so that long polls answer at once. */
  readonly closing: AbortSignal;
}

/** What a request carries on its way through the middleware. `actor` is set on every route under /v1. */
export interface AppEnv {
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; actor: Actor };
}
