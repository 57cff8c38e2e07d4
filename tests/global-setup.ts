import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startTestPostgres } from "@countersign/db/testing/postgres.ts";
import { buildPages } from "@countersign/web/build.ts";
import { findChromium } from "@countersign/web/tests/find-chromium.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of a Chromium. */
    chromium: string;
  }
}

/** Runs once before all test files: the web app as it is built, a browser, and one PostgreSQL with a migrated template, which each file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [chromium] = await Promise.all([findChromium(), buildPages()]);
  project.provide("chromium", chromium);
  const server = await startTestPostgres(join(import.meta.dirname, ".."));
  console.log(`Tests use PostgreSQL: ${server.origin}`);
  project.provide("testServer", { url: server.url, template: server.template, prefix: server.prefix });
  return server.stop;
}
