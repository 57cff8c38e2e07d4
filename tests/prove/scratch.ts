import { randomUUID } from "node:crypto";
import { connect } from "@countersign/db/connect.ts";
import { databaseUrl } from "@countersign/db/testing/database-url.ts";
import { startTestPostgres } from "@countersign/db/testing/postgres.ts";
import { repositoryRoot } from "../support/repository.ts";

/** A PostgreSQL server with one migrated database, for a proof that is run by hand. */
export interface Scratch {
  readonly url: string;
  stop(): Promise<void>;
}

/** Found or started as for the tests; nothing is left of it after `stop`. */
export async function startScratch(): Promise<Scratch> {
  const server = await startTestPostgres(repositoryRoot);
  const name = `${server.prefix}_${randomUUID().slice(0, 8)}`;
  const admin = connect(server.url, { max: 1, applicationName: "proof" });
  await admin`create database ${admin(name)} template ${admin(server.template)}`;
  await admin.end();
  return { url: databaseUrl(server.url, name), stop: server.stop };
}
