import { randomBytes } from "node:crypto";
import { type BrokerPublicKey, publicKeyOf } from "@countersign/broker/public-key.ts";
import { connect, type Sql } from "@countersign/db/connect.ts";
import type { Bell } from "@countersign/engine/bell.ts";
import { createCommitter } from "@countersign/engine/committer.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import type { Tool } from "@countersign/engine/tool.ts";
import { registerTools } from "@countersign/engine/tools.ts";
import type { Questions } from "@countersign/kb/questions.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { type Logger, pino } from "pino";
import { createApp } from "../app.ts";
import type { Events } from "../events/events.ts";
import { listen } from "../http-server.ts";
import { observeCommits } from "../observe-commits.ts";
import type { Oidc } from "../oidc.ts";
import type { Pages } from "../pages.ts";
import type { RateLimit } from "../rate-limit.ts";
import { createToken } from "../tokens.ts";

/** A key to seal to, whose private part nobody has. */
const testKey = publicKeyOf(randomBytes(32));

export type Role = "admin" | "approver" | "otherApprover" | "operator" | "viewer";

/** What the tests look at of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as JSON; the text where it is none. */
  readonly body: Record<string, unknown> & { code?: string; detail?: string };
}

export interface TestServer {
  readonly url: string;
  /** How often it rang for a worker. */
  rings(): number;
  /** How many requests have reached it. */
  requests(): number;
  stop(): Promise<void>;
}

/** One server process's worth: its own pools, its own committer, its own port. */
export async function startTestServer(
  databaseUrl: string,
  options: {
    publicUrl?: string;
    log?: Logger;
    rateLimit?: RateLimit;
    events?: Events;
    /** Rung and told as a server does it; the caller closes it. */
    bell?: Bell;
    mayWebhooksBePrivate?: boolean;
    mostFileBytes?: number;
    arrivalMs?: number;
    pages?: Pages;
    oidc?: Oidc;
    sealingKey?: () => Promise<BrokerPublicKey>;
    tools?: readonly Tool[];
    questions?: Questions;
    /** As many as there may be unless stated. */
    connections?: number;
  } = {},
): Promise<TestServer> {
  const { connections } = options;
  const sql = connect(databaseUrl, {
    applicationName: "test server",
    ...(connections === undefined ? {} : { max: connections }),
  });
  const stragglers = connect(databaseUrl, { max: 3, applicationName: "test server, waiting" });
  const closing = new AbortController();
  let rung = 0;
  const ring = () => {
    rung += 1;
    options.bell?.ring();
  };
  const committer = createCommitter({ sql, stragglers, ring });
  const log = options.log ?? pino({ level: "silent" });
  const app = createApp({
    sql,
    commit: options.bell === undefined ? committer : observeCommits(committer, options.bell.tell),
    ring,
    tools: registerTools(options.tools ?? createCatalog()),
    sealingKey: options.sealingKey ?? (() => Promise.resolve(testKey)),
    rateLimit: options.rateLimit,
    events: options.events,
    mayWebhooksBePrivate: options.mayWebhooksBePrivate,
    mostFileBytes: options.mostFileBytes,
    pages: options.pages,
    oidc: options.oidc,
    questions: options.questions,
    log,
    publicUrl: options.publicUrl,
    closing: closing.signal,
  });
  const { server, url } = await listen(app, { host: "127.0.0.1", port: 0 }, log, options.arrivalMs);
  let requested = 0;
  server.on("request", () => {
    requested += 1;
  });
  return {
    url,
    rings: () => rung,
    requests: () => requested,
    async stop() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      await Promise.all([sql.end(), stragglers.end()]);
    },
  };
}

/** A spec that can be run, for `makeWorld`. */
export const agentSpec = {
  name: "agent",
  model: "scripted",
  toolset: ["kb.read", "kb.append", "mail.send", "human.ask"],
};

/** A workspace with a token for each of its people. */
export async function givenPeople(sql: Sql): Promise<World & { tokens: Record<Role, string> }> {
  const world = await makeWorld(sql, agentSpec);
  const tokenOf = async (userId: string): Promise<string> => {
    const made = await createToken(sql, {
      workspaceId: world.workspaceId,
      userId,
      label: "test",
      mayDecide: true,
    });
    return made.token;
  };
  return {
    ...world,
    tokens: {
      admin: await tokenOf(world.admin),
      approver: await tokenOf(world.approver),
      otherApprover: await tokenOf(world.otherApprover),
      operator: await tokenOf(world.operator),
      viewer: await tokenOf(world.viewer),
    },
  };
}

/** Sends a request as somebody; a body that is not text goes as JSON. */
export async function send(
  server: Pick<TestServer, "url">,
  token: string | undefined,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const { body, headers, signal } = options;
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  // A stream has no end to wait for.
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream) await response.body?.cancel();
  const text = isStream ? "" : await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function parse(text: string): Answer["body"] {
  try {
    return JSON.parse(text) as Answer["body"];
  } catch {
    return { text };
  }
}
