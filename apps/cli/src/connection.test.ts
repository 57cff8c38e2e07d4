import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { CliConfig } from "./config.ts";
import { connectionFile, connectToServer } from "./connection.ts";
import { writePrivate } from "./local/private-file.ts";

const dataDir = mkdtempSync(join(tmpdir(), "countersign-connection-"));
afterAll(() => rmSync(dataDir, { recursive: true }));

const config: CliConfig = {
  url: undefined,
  token: undefined,
  dataDir,
  databaseUrl: undefined,
  databaseDirectUrl: undefined,
  port: undefined,
  publicUrl: undefined,
  isColorUnwanted: true,
  environment: {},
};

test("where nothing was started, the message says what to do", () => {
  const attempt = () => connectToServer(config);
  for (const way of ["run ./countersign dev", "COUNTERSIGN_URL", "COUNTERSIGN_DATA", "./countersign init"])
    expect(attempt).toThrow(way);
});

test("the data folder says where the server is, to its owner alone", () => {
  writePrivate(join(dataDir, connectionFile), { url: "http://127.0.0.1:7070", token: "cs_x" });
  expect(statSync(join(dataDir, connectionFile)).mode & 0o777).toBe(0o600);
  expect(connectToServer(config).v1.runs.$url().href).toBe("http://127.0.0.1:7070/v1/runs");
});

test("the environment comes first, and must be whole", () => {
  const given = connectToServer({ ...config, url: "http://10.0.0.1:1", token: "cs_y" });
  expect(given.v1.runs.$url().host).toBe("10.0.0.1:1");
  expect(() => connectToServer({ ...config, url: "http://10.0.0.1:1" })).toThrow(/COUNTERSIGN_TOKEN is not set/);
  expect(() => connectToServer({ ...config, url: "nonsense", token: "x" })).toThrow(/COUNTERSIGN_URL/);
});
