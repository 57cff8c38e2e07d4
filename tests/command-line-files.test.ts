import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { proposeMemory } from "@countersign/ops/memory.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { beforeEach, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";
import type { Answer } from "./support/countersign.ts";

const { sql, url } = await testDatabase();
const { data, run } = await givenCommandLine(url, { FILES_MAX_MB: "2" });
let world: World;
let token: string;

beforeEach(async () => {
  world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  const { workspaceId, operator: userId } = world;
  ({ token } = await createToken(sql, { workspaceId, userId, label: "test", mayDecide: true }));
});

const cli = (...args: string[]): Promise<Answer> => run(token, args);

const json = <T>({ out }: Answer): T => JSON.parse(out) as T;

test("a file is put, listed and got back byte for byte; what is there is not overwritten", async () => {
  const bytes = randomBytes(1_500_000);
  const path = join(data, "report 1.bin");
  await writeFile(path, bytes);
  const stored = json<{ id: string; size: number; handle: string }>(await cli("files", "put", path, "--json"));
  expect(stored.size).toBe(bytes.length);
  const again = json<{ id: string }>(await cli("files", "put", path, "--json"));
  expect(again.id).toBe(stored.id);
  expect(await cli("files", "ls")).toMatchObject({ code: 0, out: expect.stringContaining("report 1.bin") as string });

  const copy = join(data, "copy.bin");
  expect(await cli("files", "get", stored.id.slice(-8), copy)).toMatchObject({ code: 0 });
  expect((await readFile(copy)).equals(bytes)).toBe(true);
  expect(await cli("files", "get", stored.id, copy)).toMatchObject({ code: 4 });
  expect((await readFile(copy)).equals(bytes)).toBe(true);

  await sql`update blob_chunks set bytes = 'x'::bytea where workspace_id = ${world.workspaceId} and n = 1`;
  const damaged = join(data, "damaged.bin");
  expect(await cli("files", "get", stored.id, damaged)).toMatchObject({ code: 1 });
  await expect(stat(damaged)).rejects.toThrow("ENOENT");
});

test("text goes to standard output; what is not there, not a file, or too large is refused", async () => {
  const path = join(data, "note.txt");
  await writeFile(path, "a note\n");
  const stored = json<{ id: string; name: string; mediaType: string }>(
    await cli("files", "put", path, "--name", "other.txt", "--type", "text/plain", "--json"),
  );
  expect(stored).toMatchObject({ name: "other.txt", mediaType: "text/plain" });
  expect(await cli("files", "get", stored.id, "-")).toMatchObject({ code: 0, out: "a note\n" });
  expect(await cli("files", "put", join(data, "nothing"))).toMatchObject({ code: 2 });
  expect(await cli("files", "put", data)).toMatchObject({ code: 2 });
  expect(await cli("files", "get", "ffffffff", "-")).toMatchObject({ code: 1 });
  const large = join(data, "large.bin");
  await writeFile(large, Buffer.alloc(2 * 1024 * 1024 + 1));
  expect(await cli("files", "put", large)).toMatchObject({ code: 2 });
});

test("proposals of memory are listed, accepted and dismissed by a person", async () => {
  const { workspaceId } = world;
  const propose = async (text: string): Promise<string> =>
    (await proposeMemory(sql, { workspaceId, kind: "fact", text, proposedBy: "run:1" })).id;
  const [first, second] = [await propose("Ann is in Rome \u202e."), await propose("It rains.")];
  const listed = await cli("memory", "ls");
  expect(listed.out).toContain("Ann is in Rome ⟨U+202E⟩.");
  expect(await cli("memory", "accept", first)).toMatchObject({ code: 0 });
  expect(await cli("memory", "dismiss", second.slice(-8))).toMatchObject({ code: 0 });
  expect(await cli("memory", "dismiss", first)).toMatchObject({ code: 4 });
  expect(json(await cli("memory", "ls", "--json"))).toEqual([]);
  expect(json(await cli("memory", "ls", "--status", "accepted", "--json"))).toMatchObject([{ id: first }]);
  expect(await cli("memory", "ls", "--status", "odd")).toMatchObject({ code: 2 });
});

test("reminders are set, listed and canceled", async () => {
  const set = json<{ id: string }>(await cli("reminders", "add", "2040-01-01T09:00:00+01:00", "call Ann", "--json"));
  const listed = await cli("reminders", "ls");
  expect(listed.out).toContain("call Ann");
  expect(listed.out).toContain("2040-01-01 08:00:00 UTC");
  expect(await cli("reminders", "cancel", set.id.slice(-8))).toMatchObject({ code: 0 });
  expect(json(await cli("reminders", "ls", "--json"))).toEqual([]);
  expect(await cli("reminders", "add", "tomorrow", "call Ann")).toMatchObject({ code: 2 });
});
