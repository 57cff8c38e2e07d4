import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { expect, onTestFinished, test } from "vitest";
import { parseConfig } from "./config.ts";
import { readOwnSecrets } from "./own-secrets.ts";

test("the passwords of the database and the key of the endpoint are among what no result may show", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-own-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await loadOrMakeAuditKey(dataDir);
  const config = parseConfig({
    DATABASE_URL: "postgres://me:database%20pass@127.0.0.1/db",
    COUNTERSIGN_DATA: dataDir,
    COUNTERSIGN_EMBEDDINGS_URL: "https://embed.example/v1/embeddings",
    COUNTERSIGN_EMBEDDINGS_MODEL: "small",
    COUNTERSIGN_EMBEDDINGS_KEY: "sesame-open",
  });
  const held = (await readOwnSecrets(config, new Map())).values();
  expect(held).toContainEqual({ name: "database password", value: "database pass" });
  expect(held).toContainEqual({ name: "embeddings key", value: "sesame-open" });
});
