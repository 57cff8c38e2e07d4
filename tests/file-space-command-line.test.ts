import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { transaction } from "@countersign/db/transaction.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";

const { sql, url } = await testDatabase();
const { data, run } = await givenCommandLine(url);
const tokens: Record<string, string> = {};
let world: World;

beforeEach(async () => {
  world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  for (const role of ["admin", "operator"] as const) {
    const { workspaceId } = world;
    tokens[role] = (await createToken(sql, { workspaceId, userId: world[role], label: role, mayDecide: false })).token;
  }
});

const cli = (as: string, ...args: string[]) => run(tokens[as] ?? "", ["files", ...args]);

test("a quota is set, told and kept; a deleted file makes room again", async () => {
  const [one, two] = [join(data, "one.bin"), join(data, "two.bin")];
  await writeFile(one, Buffer.alloc(700_000, "1"));
  await writeFile(two, Buffer.alloc(700_000, "2"));
  expect((await cli("operator", "space")).out).toContain("0 files take 0 bytes; nothing limits them.");
  expect(await cli("operator", "quota", "1")).toMatchObject({ code: 3 });
  for (const size of ["much", "1.5", "0x10", "1e3", "-1", ""])
    expect(await cli("admin", "quota", size)).toMatchObject({ code: 2 });
  expect(await cli("admin", "quota", "1")).toMatchObject({
    code: 0,
    out: "0 files take 0 bytes; at most 1.0 MB may be.\n",
  });

  const stored = JSON.parse((await cli("operator", "put", one, "--json")).out) as { id: string };
  const refused = await cli("operator", "put", two);
  expect(refused.code).not.toBe(0);
  expect(refused.error).toContain("may store 1048576 bytes as files, and 700000 are taken");
  expect((await cli("operator", "rm", stored.id.slice(-8))).out).toContain("is deleted; and so is its content.");
  expect(await cli("operator", "rm", stored.id)).toMatchObject({ code: 1 });
  expect(await cli("operator", "put", two)).toMatchObject({ code: 0 });
  expect(JSON.parse((await cli("admin", "quota", "none", "--json")).out)).toEqual({
    fileCount: 1,
    usedBytes: 700_000,
    quotaBytes: null,
  });
});

test("a file that a page names is kept, and the page is named", async () => {
  const path = join(data, "chart.png");
  await writeFile(path, "not much of a chart");
  const stored = JSON.parse((await cli("operator", "put", path, "--json")).out) as { id: string };
  await transaction(sql, async (tx) => {
    const writer = { tx, workspaceId: world.workspaceId, userId: world.operator };
    await createPage(writer, { title: "Charts", okf: `- see /v1/files/${stored.id}\n` });
  });
  const refused = await cli("operator", "rm", stored.id);
  expect(refused.code).toBe(4);
  expect(refused.error).toContain('"chart.png" is referred to by page "Charts". Nothing was deleted');
});
