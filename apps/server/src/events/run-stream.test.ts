import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import pino from "pino";
import { v7 as newId } from "uuid";
import { expect, test } from "vitest";
import { payAttention } from "./attention.ts";
import { createEvents } from "./events.ts";
import { streamRun } from "./run-stream.ts";
import { shareReads } from "./share-reads.ts";

const { sql } = await testDatabase();

test("a sign of life reads nothing, and a reader that takes none of them for long is let go", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  let queries = 0;
  const counting = new Proxy(sql, {
    get(target, name, receiver) {
      if (name === "unsafe") queries += 1;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  const events = createEvents({ sql, log: pino({ level: "silent" }), pollMs: 20, pingMs: 20 });
  const { workspaceId } = world;
  // A token that is unknown would end the stream at the first check.
  const tokenId = newId();
  await sql`
    insert into tokens (id, workspace_id, user_id, hash, label, may_decide)
    values (${tokenId}, ${workspaceId}, ${world.viewer}, ${tokenId}, 'test', false)`;
  let hasStalled = false;
  const attention = payAttention(events, { workspaceId, runId, tokenId }, () => (hasStalled = true));
  const texts = streamRun(
    { sql: counting, reads: shareReads(1) },
    { workspaceId, userId: world.viewer, runId, after: 0, everyMs: 20 },
    attention,
  );
  const read = async (): Promise<string> => String((await texts.next()).value);
  expect(await read()).toContain("retry:");
  expect(await read()).toContain("event: line");
  expect(await read()).toContain("event: status");
  queries = 0;
  for (let ping = 0; ping < 5; ping += 1) expect(await read()).toBe('event: alive\ndata: {"everyMs":20}\n\n');
  expect(queries).toBe(0);

  await expect.poll(() => hasStalled).toBe(true);
  expect(events.watching()).toBe(0);
  expect((await texts.next()).done).toBe(true);
  await events.close();
});
