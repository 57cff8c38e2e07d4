import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { cleanEnvironment } from "@countersign/broker/environment.ts";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { type EmbeddedPostgres, startEmbedded } from "@countersign/db/embedded.ts";
import { createLoginLink } from "@countersign/server/sessions.ts";
import { type Client, createClient } from "../client.ts";
import { type CliConfig, repositoryRoot } from "../config.ts";
import { connectionFile, connectionSchema } from "../connection.ts";
import type { CliError } from "../exit.ts";
import type { Cli } from "../verb.ts";
import type { Announcer } from "./announce.ts";
import { buildPages } from "./build-pages.ts";
import { listCards, startDemoRuns, waitForCards } from "./first-cards.ts";
import { type MailServer, startMailServer } from "./mail-server.ts";
import { migrateDatabase } from "./migrate.ts";
import { readPrivate, writePrivate } from "./private-file.ts";
import { findHome, type Home, revokeToken, settleMailSecret, settlePages, settleToken } from "./seed.ts";
import { type Program, superviseProgram } from "./supervise.ts";

/** A part that runs until it is stopped. */
export interface Stoppable {
  readonly name: string;
  stop(graceMs: number): Promise<void>;
  kill?(): void;
}

export interface StartOptions {
  /** Aborted to stop: what is under way ends with its reason. */
  readonly signal: AbortSignal;
  /** Called for each part as soon as it has to be stopped again, in the order of starting. */
  readonly onStarted: (part: Stoppable) => void;
  /** A program ended again and again. */
  readonly onGivenUp: (error: CliError) => void;
}

/** The port that the server takes where nobody asked for one and it is free. */
const usualPort = 7070;

/** Starts PostgreSQL, mail, server and worker, settles in, and announces what waits. Throws the signal's reason when it is aborted. */
export async function startAll(cli: Cli, announcer: Announcer, options: StartOptions): Promise<void> {
  const { config } = cli;
  const { dataDir } = config;
  const { signal, onStarted } = options;
  const inFolder = (name: string): string => join(dataDir, name);

  const pages = buildPages();
  let since = performance.now();
  if (config.databaseUrl === undefined) announcer.doing("PostgreSQL starts");
  const urls = await findDatabase(config, onStarted);
  if (urls.postgres !== undefined)
    announcer.step(`PostgreSQL ${urls.postgres.reused ? "still runs" : "runs"} on ${new URL(urls.direct).host}`, since);
  signal.throwIfAborted();
  since = performance.now();
  announcer.doing("the database is brought up to date");
  await migrateDatabase(urls.direct);
  announcer.step("database is up to date", since);
  signal.throwIfAborted();

  const { home, hasModelKey } = await lookAround(urls.direct);
  // In any other workspace mail goes where that workspace's secret says.
  const mail = home.isDemo
    ? await startMailServer(inFolder("mail-server.json"), inFolder("mail"), announcer.mail)
    : undefined;
  if (mail !== undefined) onStarted({ name: "mail", stop: () => mail.close() });
  signal.throwIfAborted();

  const unbuilt = await pages;
  if (unbuilt !== undefined) announcer.trouble(`The web app could not be built: ${unbuilt}`);
  signal.throwIfAborted();

  since = performance.now();
  announcer.doing("server and worker start");
  const programs = startPrograms(config, urls, announcer, options, hasModelKey);
  const settled = settle(config, urls.pooled, home, programs, mail, onStarted);
  // All of them, so that whatever was started is known before anything is stopped.
  const [serverEnd, workerEnd, settledEnd] = await Promise.allSettled([programs.server, programs.worker, settled]);
  for (const end of [serverEnd, workerEnd, settledEnd]) if (end.status === "rejected") throw end.reason;
  const { url, loginUrl, client } = await settled;
  const where = mail === undefined ? "" : `, mail on 127.0.0.1:${mail.settings.port}`;
  announcer.step(`server and worker run${where}`, since);
  signal.throwIfAborted();

  if (home.isDemo) announcer.doing("the demo's agents work until they need you");
  const example = home.isDemo ? await startDemoRuns(client) : undefined;
  const tasks = home.isDemo ? await waitForCards(client, signal) : await listCards(client);
  signal.throwIfAborted();
  const { isDemo } = home;
  announcer.standing({ url, loginUrl, dataDir, isDemo, example, tasks, elapsedMs: Math.round(performance.now()) });
}

interface Urls {
  readonly pooled: string;
  readonly direct: string;
  /** Set where it is a server of ours. */
  readonly postgres?: EmbeddedPostgres;
}

/** The configured database, else one of our own in the data folder, which is then handed to `onStarted`. */
export async function findDatabase(
  { databaseUrl, databaseDirectUrl, dataDir }: CliConfig,
  onStarted: StartOptions["onStarted"],
): Promise<Urls> {
  if (databaseUrl !== undefined) return { pooled: databaseUrl, direct: databaseDirectUrl ?? databaseUrl };
  const folder = { dataDir: join(dataDir, "postgres") };
  const postgres = await startEmbedded(folder);
  // Found where it runs, and started again, on its port, where it has ended by itself.
  let look: Promise<unknown> = Promise.resolve();
  const watching = setInterval(() => {
    look = look.then(() => startEmbedded(folder)).catch(() => undefined);
  }, postgresWatchMs);
  const stop = async (): Promise<void> => {
    clearInterval(watching);
    // One under way must not start again what is stopped here; they go one at a time, so the last is all of them.
    await look;
    await postgres.stop();
  };
  onStarted({ name: "PostgreSQL", stop });
  return { pooled: postgres.url, direct: postgres.url, postgres };
}

/** How often PostgreSQL is looked for. */
const postgresWatchMs = 2_000;

/**
 * Whom this start acts for, and whether a key for Claude is stored: the same definitions are answered by it where one is,
 * and play their scenarios where none is.
 */
async function lookAround(databaseUrl: string): Promise<{ readonly home: Home; readonly hasModelKey: boolean }> {
  const sql = connect(databaseUrl, { max: 1, applicationName: "countersign dev" });
  try {
    const [found] = await sql`select from secrets where capability = 'llm.anthropic' and deleted_at is null limit 1`;
    return { home: await findHome(sql), hasModelKey: found !== undefined };
  } finally {
    await sql.end();
  }
}

/** Of the log's lines; what is less is a warning. */
const errorLevel = 50;

interface Programs {
  readonly server: Promise<Program>;
  readonly worker: Promise<Program>;
}

/** Starts both at once; each is handed to `onStarted` when it works. The worker is the last to start, so the first to stop. */
function startPrograms(
  config: CliConfig,
  urls: Urls,
  announcer: Announcer,
  options: StartOptions,
  isClaudeAsked: boolean,
): Programs {
  const logs = join(config.dataDir, "logs");
  mkdirSync(logs, { recursive: true });
  const { COUNTERSIGN_TOKEN: _token, ...inherited } = cleanEnvironment(config.environment);
  const common = {
    ...inherited,
    ...(isClaudeAsked ? {} : { PROVIDERS: "fake" }),
    DATABASE_URL: urls.pooled,
    DATABASE_DIRECT_URL: urls.direct,
    COUNTERSIGN_DATA: config.dataDir,
  };
  let port: string | undefined;

  const start = (
    name: "server" | "worker",
    readyMessage: string,
    environment: () => Record<string, string | undefined>,
  ) =>
    superviseProgram(
      {
        name,
        entry: join(repositoryRoot, "apps", name, "src/main.ts"),
        environment,
        logFile: join(logs, `${name}.log`),
        readyMessage,
        onTrouble: ({ level, msg }) =>
          announcer[level >= errorLevel ? "trouble" : "warning"](`${name}: ${msg} (see ${name}.log)`),
        onRestart: (how) => announcer.trouble(`The ${name} ended by itself (${how}); it is started again.`),
        onGivenUp: options.onGivenUp,
      },
      options.signal,
    );

  const server = (async () => {
    port = config.port ?? String(await choosePort(config));
    const started = await start("server", "listening", () => ({ ...common, PORT: port }));
    // Started again, it is to be found where it was.
    port = new URL(String(started.ready["url"])).port;
    options.onStarted({ name: "server", stop: started.stop, kill: started.kill });
    return started;
  })();
  const worker = (async () => {
    const started = await start("worker", "ready", () => common);
    await server.catch(() => undefined);
    options.onStarted({ name: "worker", stop: started.stop, kill: started.kill });
    return started;
  })();
  return { server, worker };
}

/** Pages and token as soon as the database allows; the demo's secret, where it has `mail`, once the worker has made its key. */
async function settle(
  { dataDir }: CliConfig,
  databaseUrl: string,
  home: Home,
  programs: Programs,
  mail: MailServer | undefined,
  onStarted: StartOptions["onStarted"],
): Promise<{ readonly url: string; readonly loginUrl: string; readonly client: Client }> {
  const file = join(dataDir, connectionFile);
  const open = (): Sql => connect(databaseUrl, { max: 2, applicationName: "countersign dev" });
  const sql = open();
  try {
    if (home.isDemo) await settlePages(sql, home, join(dataDir, "seed.json"));
    const token = await settleToken(sql, home, readPrivate(file, connectionSchema)?.token);
    if (!home.isDemo) {
      const stop = async (): Promise<void> => {
        const last = open();
        try {
          await revokeToken(last, home, token);
        } finally {
          await last.end();
        }
      };
      onStarted({ name: "the command line's access", stop });
    }
    await programs.worker;
    if (mail !== undefined) await settleMailSecret(sql, home, dataDir, mail.settings);
    const { ready } = await programs.server;
    const here = addressOf(String(ready["url"]));
    writePrivate(file, { url: here, token });
    const { path } = await createLoginLink(sql, { ...home, mayDecide: true });
    const url = typeof ready["publicUrl"] === "string" ? new URL(ready["publicUrl"]).origin : here;
    return { url, loginUrl: `${url}${path}`, client: createClient(here, token) };
  } finally {
    await sql.end();
  }
}

/** Where this machine reaches a server that listens on every address. */
function addressOf(listening: string): string {
  const url = new URL(listening);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  return url.origin;
}

/** The port of the last start, else the usual one; 0, any that is free, where it is taken. */
async function choosePort({ dataDir }: CliConfig): Promise<number> {
  const last = readPrivate(join(dataDir, connectionFile), connectionSchema)?.url;
  const wanted = last === undefined ? usualPort : Number(new URL(last).port) || usualPort;
  const probe = createServer().listen(wanted, "127.0.0.1");
  try {
    await once(probe, "listening");
    return wanted;
  } catch {
    return 0;
  } finally {
    probe.close();
  }
}
