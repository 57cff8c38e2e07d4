import type { Sql } from "./connect.ts";
import { findMissing } from "./migrate.ts";
import { Refusal } from "./refusal.ts";

export type BootRefusalCode =
  | "unreachable"
  | "access_denied"
  | "server_too_old"
  | "wrong_encoding"
  | "no_case_folding"
  | "no_create_right"
  | "no_tables"
  | "older_tables";

/** This server cannot carry the program; the message says what was found and what to do. It never holds a password. */
export class BootRefusal extends Refusal {
  override readonly name = "BootRefusal";
  readonly code: BootRefusalCode;
  constructor(code: BootRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type Facts = {
  version: number;
  version_text: string;
  encoding: string;
  collate: string;
  folds: boolean;
  schema: string | null;
  may_create: boolean;
};

/**
 * When the promise resolves, the server behind `sql` answers, is new enough, folds the case of all letters and lets us
 * create tables. Throws BootRefusal otherwise. Reads only.
 */
export async function checkServer(sql: Sql, { minimumVersion = 15 } = {}): Promise<void> {
  const where = describeAddress(sql);
  const facts = await readFacts(sql, where);
  if (Math.floor(facts.version / 10_000) < minimumVersion) {
    throw new BootRefusal(
      "server_too_old",
      `PostgreSQL at ${where} is version ${facts.version_text}; version ${minimumVersion} or newer is needed. Upgrade the server, or point DATABASE_URL at a newer one.`,
    );
  }
  if (facts.encoding !== "UTF8") {
    throw new BootRefusal(
      "wrong_encoding",
      `The database at ${where} has the encoding ${facts.encoding}; UTF8 is needed. ${howToCreate(sql)}`,
    );
  }
  if (!facts.folds) {
    throw new BootRefusal(
      "no_case_folding",
      `The database at ${where} has the locale ${facts.collate}, in which 'É' and 'é' are not the same letter, so search would miss words. ${howToCreate(sql)}`,
    );
  }
  if (!facts.may_create) {
    const what =
      facts.schema === null
        ? "has no schema to create tables in"
        : `may not create tables in its schema ${facts.schema}`;
    const role = quoted(sql.options.user);
    throw new BootRefusal(
      "no_create_right",
      `The user of ${where} ${what}. As an administrator of that database run: grant create, usage on schema ${quoted(facts.schema ?? "public")} to ${role};`,
    );
  }
}

/** When the promise resolves, the database has every table and SQL function of this program. Throws BootRefusal otherwise. Reads only. */
export async function checkTables(sql: Sql): Promise<void> {
  const missing = await findMissing(sql);
  if (missing === undefined) {
    throw new BootRefusal(
      "no_tables",
      `The database at ${describeAddress(sql)} has no tables of ours. Run ./countersign migrate with the same DATABASE_URL, then start again; or point DATABASE_URL at the database that has them.`,
    );
  }
  const [first] = missing;
  if (first === undefined) return;
  const others = missing.length === 1 ? "" : ` and ${missing.length - 1} more`;
  throw new BootRefusal(
    "older_tables",
    `The database at ${describeAddress(sql)} belongs to an older program: it has not got ${first}${others}. Run ./countersign migrate with the same DATABASE_URL, then start again.`,
  );
}

async function readFacts(sql: Sql, where: string): Promise<Facts> {
  try {
    const [facts] = await sql<[Facts]>`
      select current_setting('server_version_num')::int                                   as version,
             current_setting('server_version')                                            as version_text,
             pg_encoding_to_char(encoding)                                                as encoding,
             datcollate                                                                   as collate,
             lower('É') = 'é' and 'école' ilike 'ÉCOLE'                                   as folds,
             current_schema()                                                             as schema,
             coalesce(has_schema_privilege(current_user, current_schema(), 'create'), false) as may_create
        from pg_database
       where datname = current_database()`;
    return facts;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // 28… is a refused login, 3D000 an unknown database, 42501 a user without the right to connect.
    if (/^(28|3D000|42501)/.test(code)) {
      throw new BootRefusal(
        "access_denied",
        `PostgreSQL refused ${where}: ${messageOf(error)} (${code}). Check user, password and database in DATABASE_URL.`,
        { cause: error },
      );
    }
    throw new BootRefusal(
      "unreachable",
      `PostgreSQL does not answer at ${where}: ${messageOf(error)}. Is the server running, and are host and port in DATABASE_URL right?`,
      { cause: error },
    );
  }
}

function describeAddress(sql: Sql): string {
  const { host, port, user, database } = sql.options;
  return `${host.map((name, i) => `${name}:${port[i]}`).join(", ")} (user ${user}, database ${database})`;
}

function howToCreate(sql: Sql): string {
  return `Create one with: create database ${quoted(sql.options.database)} template template0 encoding 'UTF8' locale 'C.UTF-8'; (or any other UTF-8 locale), under this or another name in DATABASE_URL.`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}
