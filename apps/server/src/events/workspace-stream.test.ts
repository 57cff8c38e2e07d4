import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { payAttention } from "./attention.ts";
import type { Watcher } from "./events.ts";
import { streamWorkspace } from "./workspace-stream.ts";

const { sql } = await testDatabase();

test("UI26: the last id that a slow reader has is the newest, whichever of a change and a sign of life came first", async () => {
  const watchers: Watcher[] = [];
  const events = {
    pingMs: 1,
    watch(watcher: Watcher) {
      watchers.push(watcher);
      return Promise.resolve({ snapshot: "10:10:", stop: () => {} });
    },
    hear() {},
    watching: () => watchers.length,
    isFull: () => false,
    close: () => Promise.resolve(),
  };
  const attention = payAttention(events, { workspaceId: "w", runId: undefined, tokenId: "t" }, () => {});
  const texts = streamWorkspace(sql, { workspaceId: "w", since: undefined, everyMs: 1 }, attention);
  const read = async () => [...String((await texts.next()).value).matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  await read();
  expect(await read()).toEqual(["10:10:"]);
  const changes = { runs: [{ id: "r", workspaceId: "w" }], tasks: [], policies: [], isTooMuch: false };
  watchers[0]?.onPing("10:10:");
  watchers[0]?.onChanges({ ...changes, snapshot: "20:20:" });
  expect(await read()).toEqual(["20:20:", "20:20:"]);
  watchers[0]?.onChanges({ ...changes, snapshot: "30:30:" });
  watchers[0]?.onPing("40:40:");
  expect(await read()).toEqual(["30:30:", "40:40:"]);
  await texts.return();
});
