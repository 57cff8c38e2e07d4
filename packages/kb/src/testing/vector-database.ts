import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { afterAll } from "vitest";

/**
 * A fresh database for this test file alone, migrated, with the real pgvector, or surely without it: a PostgreSQL within
 * this process, since of the server of the other tests neither is known. It has one session, in which the messages of
 * several connections get between each other, so a file's statements go over one.
 */
export async function vectorDatabase({ hasVectors = true } = {}): Promise<{ url: string; sql: Sql }> {
  const engine = await PGlite.create({ extensions: { pg_trgm, ...(hasVectors ? { vector } : {}) } });
  const server = new PGLiteSocketServer({ db: engine, port: 0, host: "127.0.0.1", maxConnections: 20 });
  await server.start();
  const url = `postgres://postgres:postgres@${server.getServerConn()}/postgres`;
  const sql = connect(url, { max: 1, applicationName: "countersign tests" });
  await migrate(sql);
  afterAll(async () => {
    await sql.end({ timeout: 5 });
    await server.stop();
    await engine.close();
  });
  return { url, sql };
}
