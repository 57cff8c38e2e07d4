import { resolve } from "node:path";
import { usualDataDir } from "@countersign/broker/data-dir.ts";
import { ConfigError } from "@countersign/db/read-environment.ts";
import { canSwitchUser } from "@countersign/tools/exec-user.ts";
import { expect, test } from "vitest";
import { parseConfig } from "./config.ts";

const databaseUrl = "postgres://me:s3cret@db.example/main";

test("only the database has no default, and the result cannot be changed", () => {
  const config = parseConfig({ DATABASE_URL: databaseUrl, PORT: "", HOME: "/root" });
  expect(config).toEqual({
    databaseUrl,
    databaseSilentMs: 60_000,
    host: "127.0.0.1",
    port: 7070,
    publicUrl: undefined,
    dataDir: usualDataDir,
    brokerPublicKey: undefined,
    toolFiles: [],
    rateLimit: { perSecond: 50, burst: 500 },
    mayWebhooksBePrivate: false,
    mostFileBytes: 64 * 1024 * 1024,
    logLevel: "info",
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test("the keys are in the repository wherever it is started, and a relative folder is below there", () => {
  const started = process.cwd();
  try {
    process.chdir("/");
    expect(parseConfig({ DATABASE_URL: databaseUrl }).dataDir).toBe(
      resolve(import.meta.dirname, "../../../.countersign"),
    );
    expect(parseConfig({ DATABASE_URL: databaseUrl, COUNTERSIGN_DATA: "keys" }).dataDir).toBe("/keys");
  } finally {
    process.chdir(started);
  }
});

test("commands are offered where the worker beside it offers them, and where it is told that one does", () => {
  const userOf = (more: Record<string, string>) => parseConfig({ DATABASE_URL: databaseUrl, ...more }).osExec?.user;
  expect(userOf({ PROVIDERS: "fake" })).toBe(canSwitchUser() ? "own" : undefined);
  expect(userOf({ COUNTERSIGN_OS_EXEC: "1" })).toBe("own");
  expect(userOf({ COUNTERSIGN_OS_EXEC: "same-user" })).toBe("same");
  expect(userOf({ COUNTERSIGN_OS_EXEC: "0", PROVIDERS: "fake" })).toBeUndefined();
});

test("all problems are reported at once, and no value is repeated", () => {
  const environment = {
    DATABASE_URL: "mysql://me:s3cret@db.example/main",
    PORT: "70700",
    LOG_LEVEL: "loud",
    PUBLIC_URL: "ftp://example.org",
  };
  expect(() => parseConfig(environment)).toThrow(ConfigError);
  let message = "";
  try {
    parseConfig(environment);
  } catch (error) {
    message = String(error);
  }
  for (const name of Object.keys(environment)) expect(message).toContain(`${name}: `);
  expect(message).not.toContain("s3cret");
  expect(() => parseConfig({})).toThrow("DATABASE_URL: is not set");
  expect(() => parseConfig({ DATABASE_URL: databaseUrl, PORT: "seven" })).toThrow(/PORT: expected a number$/m);
});

test("behind a pooler that cannot keep them no statement is prepared", () => {
  const config = parseConfig({ DATABASE_URL: "postgres://me@pooler/main", DATABASE_PREPARE: "false" });
  expect(config.databaseUrl).toBe("postgres://me@pooler/main?prepare=false");
});

test("vectors are switched on by address and model, and half of them is refused", () => {
  const given = { DATABASE_URL: databaseUrl, COUNTERSIGN_EMBEDDINGS_URL: "https://embed.example/v1/embeddings" };
  expect(() => parseConfig(given)).toThrow(/COUNTERSIGN_EMBEDDINGS_MODEL: is not set; goes with/);
  expect(parseConfig({ ...given, COUNTERSIGN_EMBEDDINGS_MODEL: "small" }).embeddings).toEqual({
    url: given.COUNTERSIGN_EMBEDDINGS_URL,
    model: "small",
  });
});
