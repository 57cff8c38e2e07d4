import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createGroupCommit, missed, type Commit } from "./group-commit.ts";

type Move = { id: number; keys: string[] };

/** A commit whose calls the test settles by hand, in any order. */
function commitByHand() {
  const calls: {
    ids: number[];
    blocking: boolean;
    answer: (except?: number[]) => void;
    fail: (error: Error) => void;
  }[] = [];
  const commit: Commit<Move, string> = (moves, { blocking }) =>
    new Promise((resolve, reject) => {
      calls.push({
        ids: moves.map((move) => move.id),
        blocking,
        answer: (except = []) => resolve(moves.map((move) => (except.includes(move.id) ? missed : `did ${move.id}`))),
        fail: reject,
      });
    });
  return { commit, calls };
}

function setUp({ max = 256, isIdle = false } = {}) {
  const main = commitByHand();
  const aside = commitByHand();
  const submitMove = createGroupCommit({
    commit: main.commit,
    straggle: aside.commit,
    keysOf: (move: Move) => move.keys,
    max,
    isIdle: () => isIdle,
  });
  const submit = (id: number, ...keys: string[]) => submitMove({ id, keys });
  return { submit, batches: main.calls, stragglers: aside.calls };
}

function idsOf(calls: readonly { ids: number[] }[]): number[][] {
  return calls.map((call) => call.ids);
}

/** What an answer sets off is sent at the end of the turn after. */
async function nextBatch(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

test("what is submitted in one turn of the event loop goes together at its end", async () => {
  const { submit, batches } = setUp();
  void submit(1, "a");
  await Promise.resolve();
  void submit(2, "b");
  await nextBatch();
  void submit(3, "c");
  expect(batches).toMatchObject([{ ids: [1, 2], blocking: false }]);
});

test("what arrives while a call is in flight goes together in the next", async () => {
  const { submit, batches } = setUp();
  const first = submit(1, "a");
  await nextBatch();
  const others = [submit(2, "b"), submit(3, "c"), submit(4, "d")];
  expect(idsOf(batches)).toEqual([[1]]);
  batches[0]?.answer();
  expect(await first).toBe("did 1");
  await nextBatch();
  expect(idsOf(batches)).toEqual([[1], [2, 3, 4]]);
  batches[1]?.answer();
  expect(await Promise.all(others)).toEqual(["did 2", "did 3", "did 4"]);
});

test("two siblings of one key never share a batch, and go in the order they came", async () => {
  const { submit, batches } = setUp();
  void submit(2, "a");
  void submit(3, "a", "b");
  void submit(4, "b");
  void submit(5, "c");
  await nextBatch();
  for (let call = 0; call < 3; call++) {
    batches[call]?.answer();
    await nextBatch();
  }
  expect(idsOf(batches)).toEqual([[2, 5], [3], [4]]);
});

test("a batch holds at most `max`, and those left over go first in the next", async () => {
  const { submit, batches } = setUp({ max: 2 });
  for (const id of [1, 2, 3, 4, 5]) void submit(id, `key ${id}`);
  await nextBatch();
  for (let call = 0; call < 3; call++) {
    batches[call]?.answer();
    await nextBatch();
  }
  expect(idsOf(batches)).toEqual([[1, 2], [3, 4], [5]]);
});

test("where nothing else is under way, many go as two halves side by side, and siblings in neither together", async () => {
  const { submit, batches } = setUp({ isIdle: true });
  const all = Array.from({ length: 20 }, (_, i) => submit(i + 1, `key ${(i % 19) + 1}`));
  await nextBatch();
  const ids = Array.from({ length: 19 }, (_, i) => i + 1);
  expect(idsOf(batches)).toEqual([ids.slice(0, 10), ids.slice(10)]);
  batches[0]?.answer();
  await nextBatch();
  expect(batches).toHaveLength(2);
  batches[1]?.answer();
  await nextBatch();
  expect(idsOf(batches.slice(2))).toEqual([[20]]);
  batches[2]?.answer();
  expect(await Promise.all(all)).toHaveLength(20);
});

test("a member whose row is locked goes alone, blocking, and delays only its own key", async () => {
  const { submit, batches, stragglers } = setUp();
  const held = submit(1, "a");
  const behind = submit(2, "a");
  await nextBatch();
  void submit(3, "b");
  batches[0]?.answer([1]);
  await nextBatch();
  expect(stragglers).toMatchObject([{ ids: [1], blocking: true }]);
  expect(idsOf(batches)).toEqual([[1], [3]]);
  batches[1]?.answer();
  void submit(4, "c");
  await nextBatch();
  expect(idsOf(batches)).toEqual([[1], [3], [4]]);
  batches[2]?.answer();
  await nextBatch();

  stragglers[0]?.answer();
  expect(await held).toBe("did 1");
  await nextBatch();
  expect(idsOf(batches)).toEqual([[1], [3], [4], [2]]);
  batches[3]?.answer();
  expect(await behind).toBe("did 2");
});

test("a batch that fails is repeated one by one, and only the culprit rejects", async () => {
  const { submit, batches } = setUp();
  const outcomes = Promise.allSettled([submit(2, "a"), submit(3, "b"), submit(4, "c")]);
  await nextBatch();
  batches[0]?.fail(new Error("one of you is bad"));
  await nextBatch();
  batches[1]?.answer();
  await nextBatch();
  batches[2]?.fail(new Error("it is 3"));
  await nextBatch();
  batches[3]?.answer([4]);
  await nextBatch();
  expect(idsOf(batches)).toEqual([[2, 3, 4], [2], [3], [4]]);
  // The last one was only missed: it waits for its lock like any other.
  expect(await Promise.race([outcomes, sleep(20, "still waiting")])).toBe("still waiting");
});

test("one alone that fails rejects at once, and the next is not harmed", async () => {
  const { submit, batches } = setUp();
  const bad = submit(1, "a");
  const good = submit(2, "a");
  await nextBatch();
  batches[0]?.fail(new Error("no"));
  await expect(bad).rejects.toThrow("no");
  await nextBatch();
  batches[1]?.answer();
  expect(await good).toBe("did 2");
});

test("a failing straggler rejects alone and frees its key", async () => {
  const { submit, batches, stragglers } = setUp();
  const held = submit(1, "a");
  const behind = submit(2, "a");
  await nextBatch();
  batches[0]?.answer([1]);
  await nextBatch();
  stragglers[0]?.fail(new Error("lock timeout"));
  await expect(held).rejects.toThrow("lock timeout");
  await nextBatch();
  batches[1]?.answer();
  expect(await behind).toBe("did 2");
});

test("where the connection was lost in mid-call nobody is repeated: their outcome is unknown", async () => {
  const { submit, batches } = setUp();
  const outcomes = Promise.allSettled([submit(2, "a"), submit(3, "b")]);
  await nextBatch();
  batches[0]?.fail(Object.assign(new Error("write CONNECTION_CLOSED"), { code: "CONNECTION_CLOSED" }));
  expect((await outcomes).map((outcome) => outcome.status)).toEqual(["rejected", "rejected"]);
  await nextBatch();
  expect(idsOf(batches)).toEqual([[2, 3]]);
});

test("a commit that answers the wrong number of outcomes is an error, not a mix-up", async () => {
  const submit = createGroupCommit<Move, string>({
    commit: () => Promise.resolve(["one", "two"]),
    straggle: () => Promise.resolve([]),
    keysOf: (move) => move.keys,
  });
  await expect(submit({ id: 1, keys: ["a"] })).rejects.toThrow("1 transitions answered 2 outcomes");
});

const step = fc.record({
  keys: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"), { minLength: 1, maxLength: 2 }),
  isBad: fc.boolean(),
  isLocked: fc.boolean(),
  turns: fc.nat(3),
  pause: fc.nat(2),
});

const arrivals = fc.array(step, { maxLength: 40 });

test("for any arrivals, locks and bad members, the outcomes equal those of one-by-one execution", async () => {
  await fc.assert(
    fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 6 }), fc.boolean(), async (steps, max, isIdle) => {
      const counts = new Map<string, number>();
      const commit: Commit<(typeof steps)[number], string> = async (moves, { blocking }) => {
        const keys = moves.flatMap((move) => move.keys);
        expect(new Set(keys).size).toBe(keys.length);
        expect(moves.length).toBeLessThanOrEqual(max);
        for (let turn = 0; turn < Math.max(...moves.map((move) => move.turns)); turn++) await nextTurn();
        const taken = moves.filter((move) => blocking || !move.isLocked);
        const bad = taken.find((move) => move.isBad);
        if (bad !== undefined) throw new Error(`bad ${bad.keys.join()}`);
        return moves.map((move) => (taken.includes(move) ? count(counts, move.keys) : missed));
      };
      const submit = createGroupCommit({
        commit,
        straggle: commit,
        keysOf: (move) => move.keys,
        max,
        isIdle: () => isIdle,
      });
      const outcomes: Promise<PromiseSettledResult<string>>[] = [];
      for (const one of steps) {
        outcomes.push(Promise.allSettled([submit(one)]).then(([outcome]) => outcome));
        for (let turn = 0; turn < one.pause; turn++) await nextTurn();
      }

      const serial = new Map<string, number>();
      const expected = steps.map((one) => (one.isBad ? `bad ${one.keys.join()}` : count(serial, one.keys)));
      const found = await Promise.all(outcomes);
      expect(found.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message))).toEqual(
        expected,
      );
    }),
    { numRuns: 300 },
  );
});

function count(counts: Map<string, number>, keys: readonly string[]): string {
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return keys.map((key) => `${key}${counts.get(key)}`).join();
}
