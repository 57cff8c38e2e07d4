import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Queryable } from "@countersign/db/connect.ts";

export interface Violation {
  readonly invariant: string;
  readonly rows: readonly object[];
}

const file = join(import.meta.dirname, "../../../../docs/invariants.sql");

/** The invariants of the file: the sentence above each query, and the query. */
const invariants = readFileSync(file, "utf8")
  .split(/\n{2,}/)
  .map((paragraph) => {
    const lines = paragraph.split("\n");
    return {
      sentence: lines
        .filter((line) => line.startsWith("--"))
        .map((line) => line.slice(3))
        .join(" "),
      query: lines.filter((line) => !line.startsWith("--")).join("\n"),
    };
  })
  .filter(({ query }) => query.trim() !== "");

const statement = invariants
  .map(
    ({ query }, index) =>
      `select ${index} as index, (select json_agg(v) from (${query.replace(/;\s*$/, "")}) v) as rows`,
  )
  .join("\nunion all\n");

/** Runs every query of docs/invariants.sql, in one statement, and returns those that found something: none on a sound database. */
export async function findViolations(sql: Queryable): Promise<readonly Violation[]> {
  const found = await sql.unsafe<{ index: number; rows: readonly object[] | null }[]>(statement, [], { prepare: true });
  return found.flatMap(({ index, rows }) =>
    rows === null ? [] : [{ invariant: invariants[index]?.sentence ?? "", rows }],
  );
}
