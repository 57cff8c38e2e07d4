import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parseConfig } from "./config.ts";

const DATABASE_URL = "postgres://user:secret@127.0.0.1/db";

describe("the worker's configuration", () => {
  test("needs only the database", () => {
    const config = parseConfig({ DATABASE_URL });
    expect(config).toMatchObject({
      databaseDirectUrl: DATABASE_URL,
      capacity: 64,
      leaseMs: 30_000,
      renewMs: 10_000,
      maxClaims: 5,
    });
    expect(config.providers).toBeUndefined();
    expect(Object.isFrozen(config)).toBe(true);
  });

  test("tells every problem at once, by name, and repeats no value", () => {
    const parse = () =>
      parseConfig({ DATABASE_URL: "mysql://user:secret@host", WORKER_CAPACITY: "many", PROVIDERS: "openai" });
    expect(parse).toThrow(/DATABASE_URL[^]*PROVIDERS[^]*WORKER_CAPACITY/);
    expect(parse).not.toThrow(/secret/);
  });

  test("says what is missing", () => {
    expect(() => parseConfig({ DATABASE_URL: "" })).toThrow(/DATABASE_URL: is not set/);
  });

  test("has vectors of pages where address and model are given, and sends no key in the open", () => {
    const [URL, MODEL, KEY] = ["URL", "MODEL", "KEY"].map((name) => `COUNTERSIGN_EMBEDDINGS_${name}`) as [
      string,
      string,
      string,
    ];
    const given = { DATABASE_URL, [URL]: "https://embed.example/v1/embeddings", [MODEL]: "small", [KEY]: "sesame" };
    expect(parseConfig(given).embeddings).toEqual({ url: given[URL], model: "small", key: "sesame" });
    expect(parseConfig({ DATABASE_URL, [URL]: "", [MODEL]: "" }).embeddings).toBeUndefined();
    expect(parseConfig({ ...given, [URL]: "http://[::1]:8080/embeddings" }).embeddings?.key).toBe("sesame");
    expect(parseConfig({ ...given, [URL]: "http://gpu.lan/embeddings", [KEY]: "" }).embeddings?.key).toBeUndefined();
    const refusals: [Record<string, string>, RegExp][] = [
      [{ ...given, [URL]: "http://gpu.lan/embeddings" }, /KEY: is sent over https only/],
      [{ ...given, [KEY]: "two words" }, /KEY: expected letters/],
      [{ ...given, [URL]: "https://me:secret@embed.example/" }, /URL: expected https:.*without a login/],
      [{ DATABASE_URL, [KEY]: "sesame" }, /URL: is not set; goes with[^]*MODEL: is not set; goes with/],
    ];
    for (const [environment, message] of refusals) {
      expect(() => parseConfig(environment)).toThrow(message);
      expect(() => parseConfig(environment)).not.toThrow(/secret|sesame|two words/);
    }
  });

  test("refuses a lease that one lost renewal would lose", () => {
    expect(() => parseConfig({ DATABASE_URL, LEASE_MS: "3000", RENEW_MS: "2000" })).toThrow(
      /RENEW_MS: expected at most half/,
    );
  });

  test("names the files of tools by their whole paths, and what commands may see", () => {
    const given = {
      DATABASE_URL,
      COUNTERSIGN_TOOLS: " ./tools.ts, /etc/tools.yaml ,",
      COUNTERSIGN_OS_EXEC_ENV: "LANG, TZ",
    };
    expect(parseConfig(given)).toMatchObject({
      toolFiles: [resolve("tools.ts"), "/etc/tools.yaml"],
      osExec: undefined,
    });
    expect(parseConfig({ ...given, COUNTERSIGN_OS_EXEC: "same-user" }).osExec).toMatchObject({
      user: "same",
      envAllowlist: ["LANG", "TZ"],
    });
    expect(parseConfig({ ...given, PROVIDERS: "fake", COUNTERSIGN_OS_EXEC: "0" }).osExec).toBeUndefined();
  });

  test("names no prepared statements where it is told so, but past the pooler", () => {
    const behind = { DATABASE_URL: "postgres://me@pooler/main", DATABASE_PREPARE: "false" };
    expect(parseConfig(behind)).toMatchObject({
      databaseUrl: "postgres://me@pooler/main?prepare=false",
      databaseDirectUrl: "postgres://me@pooler/main?prepare=false",
    });
    expect(parseConfig({ ...behind, DATABASE_DIRECT_URL: "postgres://me@db/main" })).toMatchObject({
      databaseDirectUrl: "postgres://me@db/main",
    });
    expect(() => parseConfig({ ...behind, DATABASE_PREPARE: "no" })).toThrow(
      /DATABASE_PREPARE: expected true or false/,
    );
  });
});
