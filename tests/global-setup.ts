import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startTestPostgres } from "@countersign/db/testing/postgres.ts";

/** Runs once before all test files: one PostgreSQL with a migrated template, which each file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres(join(import.meta.dirname, ".."));
  console.log(`Tests use PostgreSQL: ${server.origin}`);
  project.provide("testServer", { url: server.url, template: server.template, prefix: server.prefix });
  return server.stop;
}
