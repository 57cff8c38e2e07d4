import { createHash, randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import {
  beginCapture,
  listCaptures,
  lockCapture,
  type NewCapture,
  putCapture,
  readCapture,
  settleCapture,
} from "./captures.ts";

const { sql } = await testDatabase();
const userId = randomUUID();

async function newWorkspace(): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, 'test')`;
  return id;
}

async function store(workspaceId: string, text: string): Promise<string> {
  const hash = createHash("sha256").update(text).digest("hex");
  await sql`insert into blobs (workspace_id, hash, size, media_type) values (${workspaceId}, ${hash}, ${text.length}, 'text/markdown')
            on conflict do nothing`;
  return hash;
}

async function capture(workspaceId: string, url: string, text = "a", over: Partial<NewCapture> = {}) {
  const hash = await store(workspaceId, text);
  return await putCapture(sql, { workspaceId, url, title: "A", hash, userId: randomUUID(), ...over });
}

const idOf = (put: Awaited<ReturnType<typeof capture>>): string => (put.kind === "refused" ? "" : put.id);

test("the same text of an address is captured once, however its address is written; another text is another capture", async () => {
  const workspaceId = await newWorkspace();
  const first = await capture(workspaceId, "https://Example.org:443/a?b=1#top");
  expect(first.kind).toBe("captured");
  for (const url of ["https://example.org/a?b=1", "https://example.org/a?b=1#end"]) {
    expect(await capture(workspaceId, url, "a", { title: "other" })).toEqual({ kind: "existing", id: idOf(first) });
  }
  expect(await capture(workspaceId, "https://example.org/a?b=1", "changed")).toMatchObject({ kind: "captured" });
  expect(await capture(workspaceId, "https://example.org/a?b=2")).toMatchObject({ kind: "captured" });
  expect(await listCaptures(sql, { workspaceId, userId, limit: 10 })).toHaveLength(3);
});

test("what an address says again after it said something else is captured again, once, however many capture it", async () => {
  const workspaceId = await newWorkspace();
  const url = "https://example.org";
  const first = await capture(workspaceId, url);
  const other = await capture(workspaceId, url, "b");
  const again = await Promise.all(Array.from({ length: 10 }, () => capture(workspaceId, url)));
  expect(again.filter(({ kind }) => kind === "captured")).toHaveLength(1);
  expect(new Set(again.map(idOf)).size).toBe(1);
  expect([idOf(first), idOf(other)]).not.toContain(again.map(idOf)[0]);
  expect(await capture(workspaceId, url)).toMatchObject({ kind: "existing", id: again.map(idOf)[0] });
  expect(await capture(workspaceId, url, "b")).toMatchObject({ kind: "captured" });
});

test("of the same capture made many times at once, one is made", async () => {
  const workspaceId = await newWorkspace();
  const made = await Promise.all(Array.from({ length: 10 }, () => capture(workspaceId, "https://example.org")));
  expect(made.filter(({ kind }) => kind === "captured")).toHaveLength(1);
  expect(new Set(made.map(idOf)).size).toBe(1);
});

test.each([
  "",
  "example.org",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "https://user:pass@example.org/",
  "ftp://example.org",
])("%j is no address to capture", async (url) => {
  const workspaceId = await newWorkspace();
  expect(await capture(workspaceId, url)).toMatchObject({ kind: "refused" });
});

test("a screenshot is a file of the same workspace", async () => {
  const [workspaceId, other] = [await newWorkspace(), await newWorkspace()];
  const id = randomUUID();
  const hash = await store(other, "png");
  await sql`insert into files (id, workspace_id, hash, name, media_type, size, created_by)
            values (${id}, ${other}, ${hash}, 'a.png', 'image/png', 3, 'user:1')`;
  const asked = { screenshotFileId: id };
  expect(await capture(workspaceId, "https://example.org", "a", asked)).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining(id) as string,
  });
  expect(await capture(other, "https://example.org", "a", asked)).toMatchObject({ kind: "captured" });
});

test("a capture that is begun again and again and never ends is given up, and nobody compiles it any more", async () => {
  const workspaceId = await newWorkspace();
  const id = idOf(await capture(workspaceId, "https://example.org"));
  expect(await beginCapture(sql, id, 2)).toBe("begun");
  expect(await beginCapture(sql, id, 2)).toBe("begun");
  expect(await beginCapture(sql, id, 2)).toBe("exhausted");
  expect(await beginCapture(sql, id, 2)).toBe("settled");
  expect(await readCapture(sql, { workspaceId, userId }, id)).toMatchObject({
    status: "failed",
    attempts: 2,
    problem: "it was begun 2 times and never came to an end",
  });
  expect(await transaction(sql, (tx) => lockCapture(tx, id))).toBeUndefined();
});

test("captures of one address are compiled one at a time, and each begins from the last that was", async () => {
  const workspaceId = await newWorkspace();
  const pageId = randomUUID();
  await sql`insert into directories (workspace_id, dir, key) values (${workspaceId}, '', '')`;
  await sql`insert into pages (id, workspace_id, dir, title, slug, type, frontmatter, line_end, revision)
            values (${pageId}, ${workspaceId}, '', 'A', 'a', 'Page', '', E'\n', 1)`;
  const ids = [];
  for (const text of ["a", "b", "c"]) ids.push(idOf(await capture(workspaceId, "https://example.org", text)));
  const [first = "", second = "", third = ""] = ids;
  const held = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const compiling = transaction(sql, async (tx) => {
    expect(await lockCapture(tx, first)).toMatchObject({ earlier: undefined, isOvertaken: false });
    taken.resolve();
    await held.promise;
    await settleCapture(tx, first, { pageId, revision: 4 });
  });
  await taken.promise;
  const next = transaction(sql, async (tx) => {
    const capture = await lockCapture(tx, third);
    await settleCapture(tx, third, { pageId, revision: 5 });
    return capture;
  });
  held.resolve();
  await compiling;
  expect(await next).toMatchObject({ earlier: { pageId, revision: 4 }, isOvertaken: false });
  expect(await transaction(sql, (tx) => lockCapture(tx, second))).toMatchObject({
    earlier: { pageId, revision: 5 },
    isOvertaken: true,
  });
});

test("another workspace's capture is not there", async () => {
  const [mine, other] = [await newWorkspace(), await newWorkspace()];
  const id = idOf(await capture(mine, "https://example.org"));
  expect(await readCapture(sql, { workspaceId: other, userId }, id)).toBeUndefined();
  expect(await listCaptures(sql, { workspaceId: other, userId, limit: 10 })).toEqual([]);
  expect(await capture(other, "https://example.org")).toMatchObject({ kind: "captured" });
});
