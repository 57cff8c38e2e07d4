import { existsSync } from "node:fs";
import { join } from "node:path";
import { bootCheckKeys } from "@countersign/broker/boot-check-keys.ts";
import { holdsSecrets } from "@countersign/broker/become-clean.ts";
import { loadKeyring, privateKeyFile } from "@countersign/broker/keyring.ts";
import { checkServer } from "@countersign/db/boot-check.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { psqlCommand } from "@countersign/db/embedded.ts";
import { findMissing } from "@countersign/db/migrate.ts";
import { ask, type KillSwitch } from "../client.ts";
import type { CliConfig } from "../config.ts";
import { connectionFile } from "../connection.ts";
import { CliError } from "../exit.ts";
import { missingToolsAdvice, readDefinitions } from "../read-definitions.ts";
import { pause } from "../verbs/interrupt.ts";
import { nameOf } from "../verbs/policy.ts";
import type { Cli } from "../verb.ts";
import { checkVectors } from "./check-vectors.ts";
import type { Finding } from "./finding.ts";
import { withLocalDatabase } from "./local-database.ts";

/** A listener that hears nothing for so long sits behind a pooler in transaction mode. */
const hearWithinMs = 3_000;

/** What clocks may differ before people are shown times that mislead them; deadlines go by the database's clock alone. */
const mostSkewMs = 2_000;

/** `countersign doctor`: changes nothing. Throws CliError where something does not work. */
export async function examine(cli: Cli): Promise<void> {
  const findings = [
    ...checkEnvironment(cli.config),
    ...(await checkDatabase(cli.config)),
    ...(await checkServerAnswer(cli)),
  ];
  if (cli.isJson) cli.printJson(findings);
  else cli.print(findings.flatMap((finding) => show(finding, cli)));
  const bad = findings.filter(({ state }) => state === "bad");
  if (bad.length > 0) throw new CliError("error", `Not in order: ${bad.map(({ about }) => about).join(", ")}.`);
}

function checkEnvironment({ url, token, environment, databaseUrl, dataDir }: CliConfig): Finding[] {
  const pair: Finding[] =
    (url === undefined) === (token === undefined)
      ? []
      : [
          {
            about: "environment",
            state: "bad",
            found: "one of COUNTERSIGN_URL and COUNTERSIGN_TOKEN is set",
            advice: "Set both, or neither.",
          },
        ];
  const seeds: Finding[] = holdsSecrets(environment)
    ? [
        {
          about: "environment",
          state: "warn",
          found: "it holds secrets, which programs of yours can read",
          advice: "Once the worker has stored them (./countersign secrets ls), unset them.",
        },
      ]
    : [];
  const found = databaseUrl === undefined ? `the database of ${dataDir}` : "the database of DATABASE_URL";
  return [...pair, ...seeds, { about: "environment", state: "ok", found }];
}

async function checkDatabase(config: CliConfig): Promise<Finding[]> {
  try {
    return await withLocalDatabase(config, async (sql) => {
      await checkServer(sql);
      const missing = await findMissing(sql);
      const isMigrated = missing?.length === 0;
      return [
        isMigrated
          ? { about: "database", state: "ok", found: "it answers, and has the tables", ...wayIn(sql, config) }
          : {
              about: "database",
              state: "bad",
              found: `it answers, and has ${missing === undefined ? "no tables of ours" : `not got ${missing.join(", ")}`}`,
              advice: "Run ./countersign migrate.",
            },
        await checkListening(sql),
        await checkClock(sql),
        ...(isMigrated ? [await checkKeys(sql, config), ...(await checkVectors(sql, config.environment))] : []),
      ];
    });
  } catch (error) {
    return [{ about: "database", state: "bad", found: error instanceof Error ? error.message : String(error) }];
  }
}

/** How a person reaches the data folder's own, whose address is nowhere else. */
function wayIn(sql: Sql, { databaseUrl, databaseDirectUrl, dataDir }: CliConfig): Pick<Finding, "advice"> {
  const [port] = sql.options.port;
  if ((databaseDirectUrl ?? databaseUrl) !== undefined || port === undefined) return {};
  return { advice: `To look into it while ./countersign dev runs: ${psqlCommand(join(dataDir, "postgres"), port)}` };
}

async function checkListening(sql: Sql): Promise<Finding> {
  const channel = `countersign_doctor_${process.pid}`;
  const heard = new AbortController();
  const listening = await sql.listen(channel, () => heard.abort());
  await sql.notify(channel, "");
  await pause(hearWithinMs, heard.signal);
  await listening.unlisten();
  if (heard.signal.aborted) return { about: "pooler", state: "ok", found: "notifications arrive" };
  return {
    about: "pooler",
    state: "warn",
    found: "notifications do not arrive, as behind a pooler in transaction mode; ready runs are found by polling",
    advice: "Set DATABASE_DIRECT_URL to the database itself.",
  };
}

async function checkClock(sql: Sql): Promise<Finding> {
  const asked = Date.now();
  const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
  const answered = Date.now();
  // What the way there and back took is no difference.
  const skewMs = Math.round((row?.ms ?? answered) - (asked + answered) / 2);
  const isSmall = Math.abs(skewMs) <= mostSkewMs + (answered - asked) / 2;
  const found = `the database's clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
  if (isSmall) return { about: "clock", state: "ok", found };
  return {
    about: "clock",
    state: "warn",
    found,
    advice: "Let both take the time from the network: ages are shown wrong, and signatures with a time may be refused.",
  };
}

async function checkKeys(sql: Sql, { dataDir, environment }: CliConfig): Promise<Finding> {
  const path = join(dataDir, privateKeyFile);
  if (!existsSync(path)) {
    const check = await bootCheckKeys(sql, new Map());
    if (check.kind !== "ok") {
      const count = `${check.secrets.length} stored ${check.secrets.length === 1 ? "secret is" : "secrets are"}`;
      return {
        about: "keys",
        // A server beside which no worker runs needs the public half alone.
        state: environment["BROKER_PUBLIC_KEY"] ? "warn" : "bad",
        found: `there is no master key in ${dataDir}, and ${count} sealed to the key of another folder`,
        advice:
          "Set COUNTERSIGN_DATA to the worker's folder, or bring its files here from the backup: a worker that starts here makes another key, and refuses to work with these secrets.",
      };
    }
    return {
      about: "keys",
      state: "warn",
      found: `there is no master key in ${dataDir}`,
      advice: "The worker makes it when it starts; where it has another folder, set COUNTERSIGN_DATA to that.",
    };
  }
  try {
    const { keyring, current } = await loadKeyring(dataDir);
    const check = await bootCheckKeys(sql, keyring);
    if (check.kind !== "ok") return { about: "keys", state: "bad", found: check.message };
    return {
      about: "keys",
      state: "ok",
      found: `${current.publicKey.keyId} opens every stored secret, with ${keyring.size - 1} earlier ${keyring.size === 2 ? "key" : "keys"}`,
    };
  } catch (error) {
    return { about: "keys", state: "bad", found: error instanceof Error ? error.message : String(error) };
  }
}

async function checkServerAnswer(cli: Cli): Promise<Finding[]> {
  const { url, token, dataDir, port = "7070", publicUrl = `http://127.0.0.1:${port}` } = cli.config;
  if (url === undefined && token === undefined && !existsSync(join(dataDir, connectionFile))) {
    const doesAnswer = await fetch(new URL("/health/live", publicUrl)).then(
      ({ ok }) => ok,
      () => false,
    );
    const set = `Set COUNTERSIGN_URL=${publicUrl} and COUNTERSIGN_TOKEN to a token, such as the one that ./countersign init printed`;
    return [
      doesAnswer
        ? {
            about: "server",
            state: "warn",
            found: `one answers at ${publicUrl}, and this shell has no token for it`,
            advice: `${set}.`,
          }
        : {
            about: "server",
            state: "bad",
            found: `none answers at ${publicUrl}, and ./countersign dev was not started with ${dataDir}`,
            advice: `Start ./countersign dev; or start ./countersign serve. ${set}.`,
          },
    ];
  }
  try {
    const { name, role, workspace } = await ask(cli.client.v1.me.$get());
    const { switches } = await ask(cli.client.v1.kill.$get());
    const lacking = (await readDefinitions(cli.client)).filter(({ missingTools }) => missingTools.length > 0);
    return [
      { about: "server", state: "ok", found: `it answers ${name} (${role}) in ${workspace.name}` },
      checkSwitches(switches),
      ...lacking.map((one): Finding => ({
        about: "tools",
        state: "warn",
        found: `the definition ${one.name} names tools that the server does not have: ${one.missingTools.join(", ")}`,
        advice: missingToolsAdvice,
      })),
    ];
  } catch (error) {
    return [{ about: "server", state: "bad", found: error instanceof Error ? error.message : String(error) }];
  }
}

function checkSwitches(switches: readonly KillSwitch[]): Finding {
  if (switches.length === 0) return { about: "kill switches", state: "ok", found: "none is on" };
  return {
    about: "kill switches",
    state: "warn",
    found: `on for ${switches.map(nameOf).join(", ")}`,
    advice: "By whom, why, and how to let it go on: ./countersign kill ls",
  };
}

function show({ about, state, found, advice }: Finding, { terminal }: Cli): string[] {
  const { style } = terminal;
  const sign = { ok: style.green("✔"), warn: style.yellow("!"), bad: style.red("✘") }[state];
  return [`${sign} ${about}: ${found}`, ...(advice === undefined ? [] : [`  ${advice}`])];
}
