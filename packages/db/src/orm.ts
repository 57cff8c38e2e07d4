import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import type { Queryable, Sql } from "./connect.ts";

/**
 * Typed queries on a pool or inside a transaction, for plain reads and writes of tables that no commit owns.
 *
 * drizzle 0.45 rewrites the parsers and serialisers of the client it is given, which would turn every date of the pool
 * into text; so it is given the client with a copy of those. Its own `transaction()` is not used: see transaction.ts.
 * JSON columns are written as `$1::text::json`, since both it and the driver would encode them.
 */
export function orm(sql: Queryable): Omit<PostgresJsDatabase, "transaction"> {
  const { options } = sql as Sql;
  const copy = { ...options, parsers: { ...options.parsers }, serializers: { ...options.serializers } };
  const client = new Proxy(sql as Sql, {
    get: (target, key, receiver) => (key === "options" ? copy : Reflect.get(target, key, receiver)),
  });
  return drizzle(client);
}
