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

/** Runs every query of docs/invariants.sql and returns those that found something; empty on a sound database. */
export async function findViolations(sql: Queryable): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  for (const { sentence, query } of invariants) {
    const rows = await sql.unsafe<object[]>(query, [], { prepare: true });
    if (rows.length > 0) found.push({ invariant: sentence, rows: [...rows] });
  }
  return found;
}
