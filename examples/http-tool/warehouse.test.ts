import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestKit, type TestKit } from "@countersign/engine/test-kit.ts";
import { assembleTools } from "@countersign/tools/assemble-tools.ts";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createWarehouse } from "./warehouse.ts";

const secret = "what the two of them share";
const server = createWarehouse(secret);
const folder = mkdtempSync(join(tmpdir(), "countersign-example-"));
const file = join(folder, "tools.yaml");

let kit: TestKit;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const declared = readFileSync(join(import.meta.dirname, "tools.yaml"), "utf8");
  writeFileSync(file, declared.replace("7081", String((server.address() as AddressInfo).port)));
  kit = await openTestKit({ databaseUrl: inject("testServer").url });
});
afterAll(async () => {
  await kit.close();
  server.close();
  rmSync(folder, { recursive: true });
});

async function reserve(args: object, sharedSecret = secret) {
  const registered = (await assembleTools({ files: [file] })).get("stock.reserve");
  return await kit.runTool(registered!.tool, args, { secrets: { "stock.call": sharedSecret } });
}

test("a reservation is approved by a person and carried out by the warehouse", async () => {
  expect(await reserve({ article: "screws", count: 5 })).toMatchObject({
    verdict: "ask",
    card: [expect.stringMatching(/^POST http:\/\/127\.0\.0\.1:\d+\/tools\/stock\.reserve$/)],
    status: "done",
    content: "5 × screws reserved; 5 in all",
  });
});

test("arguments are checked against the file's JSON Schema before anybody is asked", async () => {
  expect(await reserve({ article: "screws", count: 0 })).toMatchObject({ status: "failed", code: "invalid_args" });
});

test("the warehouse answers nobody else", async () => {
  expect(await reserve({ article: "screws", count: 5 }, "a guess of somebody's")).toMatchObject({
    status: "failed",
    content: "refused with HTTP 401",
  });
});
