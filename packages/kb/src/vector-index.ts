import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";

/** From this version on an index goes on looking where access rules leave too little of what it found. */
const leastVersion = [0, 8] as const;

const indexPrefix = "page_vectors_near_";

export type VectorSupport =
  | { readonly kind: "ready"; readonly version: string }
  /** `reason` says what a search lacks, `advice` what an operator can do. */
  | { readonly kind: "missing"; readonly reason: string; readonly advice: string };

/** What is known of the extension, as a row of SQL has it. */
export interface ExtensionRow {
  readonly version: string | null;
  readonly isReachable: boolean;
}

/** Whether this database can compare vectors: pgvector, of a version and in a schema that serve. */
export async function readVectorSupport(sql: Queryable): Promise<VectorSupport> {
  const [row] = await sql<ExtensionRow[]>`
    select (select extversion from pg_extension where extname = 'vector') as version,
           to_regtype('halfvec') is not null as "isReachable"`;
  return judgeExtension(row);
}

/** What `row` means for a search. */
export function judgeExtension(row: ExtensionRow | undefined): VectorSupport {
  if (row === undefined || row.version === null) {
    return {
      kind: "missing",
      reason: "the database has no pgvector",
      advice: "Install pgvector 0.8 or newer on the database's machine, then in the database: create extension vector;",
    };
  }
  const { version, isReachable } = row;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < leastVersion[0] || (major === leastVersion[0] && minor < leastVersion[1])) {
    return {
      kind: "missing",
      reason: `the database's pgvector is ${version}, and 0.8 or newer is needed`,
      advice: "Install a newer pgvector, then in the database: alter extension vector update;",
    };
  }
  if (isReachable) return { kind: "ready", version };
  return {
    kind: "missing",
    reason: "the database's pgvector is in a schema that is not on the search path",
    advice: "Put that schema on the search_path of the user in DATABASE_URL.",
  };
}

/** The name of the index over vectors of so many numbers. */
export function nameIndex(dims: number): string {
  return `${indexPrefix}${dims}`;
}

/**
 * Afterwards the index over vectors of `dims` numbers is there, and those of other dimensions that hold nothing are gone. Of
 * several processes one does it. The extension has to be there.
 */
export async function prepareIndex(sql: Sql, dims: number): Promise<void> {
  await transaction(sql, async (tx) => {
    await lockPreparing(tx);
    const found = await tx<{ name: string }[]>`
      select relname as name from pg_class
       where relkind = 'i' and relnamespace = current_schema()::regnamespace and starts_with(relname, ${indexPrefix})`;
    const names = found.map(({ name }) => name);
    // The whole statement is text: what an index is made of cannot be a parameter.
    if (!names.includes(nameIndex(dims))) {
      await tx.unsafe(
        `create index ${nameIndex(dims)} on page_vectors using hnsw ((embedding::halfvec(${dims})) halfvec_cosine_ops) where dims = ${dims}`,
      );
    }
    for (const name of names) {
      const other = Number(name.slice(indexPrefix.length));
      if (other === dims || !Number.isInteger(other)) continue;
      const [left] = await tx`select 1 from page_vectors where dims = ${other} limit 1`;
      if (left === undefined) await tx.unsafe(`drop index ${nameIndex(other)}`);
    }
  });
}

/** Afterwards the extension is in the database where it is installed on its machine and the user may make it. */
export async function ensureExtension(sql: Sql): Promise<VectorSupport> {
  const support = await readVectorSupport(sql);
  if (support.kind === "ready") return support;
  const [row] = await sql<{ canMake: boolean }[]>`
    select exists (select from pg_available_extensions where name = 'vector' and installed_version is null) as "canMake"`;
  if (row?.canMake !== true) return support;
  try {
    await transaction(sql, async (tx) => {
      await lockPreparing(tx);
      await tx`create extension if not exists vector`;
    });
  } catch {
    return {
      kind: "missing",
      reason: "the database has no pgvector",
      advice:
        "It is installed on the database's machine. Let an administrator of the database say: create extension vector;",
    };
  }
  return await readVectorSupport(sql);
}

/** `create … if not exists` of two processes at once fails in one of them. */
async function lockPreparing(tx: Queryable): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('countersign page_vectors'))`;
}
