import { describe, expect, test } from "vitest";
import { definitionSpec } from "./definition.ts";
import { positionOf } from "./position.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { aRecordedCall, aSnapshot } from "./testing/snapshots.ts";

const base = { name: "agent", model: "scripted", toolset: [] };
const goesOn = definitionSpec.parse(base);
const stops = definitionSpec.parse({ ...base, onDenial: "stop" });

type State = Pick<RecordedCall, "status" | "waitsOn" | "resultCode" | "epoch"> & { readonly isHere: boolean };

const settled = { waitsOn: null, resultCode: null, epoch: 1, isHere: false } as const;

/** Every state that a call of the last turn can be found in, by a worker that holds the run under epoch 2. */
const states: Readonly<Record<string, State>> = {
  fresh: { ...settled, status: "requested" },
  "fresh, under way here": { ...settled, status: "requested", isHere: true },
  "begun by the claim": { ...settled, status: "executing", epoch: 2 },
  "executing, under way here": { ...settled, status: "executing", epoch: 2, isHere: true },
  interrupted: { ...settled, status: "executing", epoch: 1 },
  "waiting for approval": { ...settled, status: "waiting", waitsOn: "approval" },
  "waiting for an answer": { ...settled, status: "waiting", waitsOn: "question" },
  "waiting for a time": { ...settled, status: "waiting", waitsOn: "timer" },
  "waiting for a child": { ...settled, status: "waiting", waitsOn: "child" },
  "unknown, being asked about": { ...settled, status: "unknown", waitsOn: "outcome", resultCode: "unknown" },
  "unknown for good": { ...settled, status: "unknown", resultCode: "unknown" },
  done: { ...settled, status: "done" },
  failed: { ...settled, status: "failed", resultCode: "error" },
  "denied by policy": { ...settled, status: "denied", resultCode: "policy_denied" },
  "denied by a person": { ...settled, status: "denied", resultCode: "user_denied" },
  canceled: { ...settled, status: "canceled", resultCode: "canceled" },
};

function givenTurn(of: readonly State[]) {
  const calls = of.map(({ isHere: _, ...state }, position) =>
    aRecordedCall({ ...state, id: `call ${position}`, position }),
  );
  const inFlight = new Set(of.flatMap(({ isHere }, position) => (isHere ? [`call ${position}`] : [])));
  return { calls, inFlight };
}

function* turnsOf(size: number): Generator<readonly State[]> {
  if (size === 0) return yield [];
  for (const rest of turnsOf(size - 1)) for (const state of Object.values(states)) yield [...rest, state];
}

const isSettled = ({ status, waitsOn }: RecordedCall): boolean =>
  waitsOn === null && !["requested", "executing", "waiting"].includes(status);

describe.each([1, 2, 3])("of every turn of %i calls, each in any state,", (size) => {
  test("the position follows from the record alone, and the model is never asked while a call is open", () => {
    for (const turn of turnsOf(size)) {
      const { calls, inFlight } = givenTurn(turn);
      const position = positionOf(aSnapshot({ calls }), goesOn, inFlight);
      const startable = calls.filter(
        ({ id, status }) => ["requested", "executing"].includes(status) && !inFlight.has(id),
      );
      if (startable.length > 0) expect(position).toEqual({ kind: "calls", calls: startable });
      else if (inFlight.size > 0) expect(position).toEqual({ kind: "busy" });
      else expect(position.kind).toBe(calls.every(isSettled) ? "model" : "wait");
    }
  });

  test("a person's denial ends a run that stops at it, once what is under way here has come to its end", () => {
    for (const turn of turnsOf(size)) {
      const { calls, inFlight } = givenTurn(turn);
      const position = positionOf(aSnapshot({ calls }), stops, inFlight);
      const isDenied = calls.some(({ resultCode }) => resultCode === "user_denied");
      if (!isDenied) expect(position).toEqual(positionOf(aSnapshot({ calls }), goesOn, inFlight));
      else if (inFlight.size > 0) expect(position).toEqual({ kind: "busy" });
      else expect(position).toEqual({ kind: "fail", reason: "blocked_by_approval" });
    }
  });

  test("a reached limit ends a run only where the model would be asked", () => {
    const limited = definitionSpec.parse({ ...base, limits: { turns: 1 } });
    for (const turn of turnsOf(size)) {
      const { calls, inFlight } = givenTurn(turn);
      const free = positionOf(aSnapshot({ calls, turns: 1 }), goesOn, inFlight);
      const position = positionOf(aSnapshot({ calls, turns: 1 }), limited, inFlight);
      expect(position).toEqual(free.kind === "model" ? { kind: "fail", reason: "limit:turns" } : free);
    }
  });
});

test("a run without calls asks the model", () => {
  expect(positionOf(aSnapshot(), goesOn, new Set())).toEqual({ kind: "model" });
});

test("only the calls of the last turn count: a denial in an earlier one does not stop the run again", () => {
  const calls = [
    aRecordedCall({ id: "old", turnSeq: 2, status: "denied", resultCode: "user_denied" }),
    aRecordedCall({ id: "new", turnSeq: 4 }),
  ];
  expect(positionOf(aSnapshot({ calls }), stops, new Set())).toEqual({ kind: "model" });
});

test.each([
  ["turns", { turns: 5 }, { turns: 5 }],
  ["toolCalls", { toolCalls: 3 }, { callCount: 3 }],
  ["tokens", { tokens: 100 }, { inputTokens: 60, outputTokens: 40 }],
  ["costMicros", { costMicros: 9 }, { costMicros: 9 }],
  ["workedMs", { workedMs: 1_000 }, { workedMs: 1_000 }],
])("the limit %s is reached at its value, not before", (name, limits, reached) => {
  const definition = definitionSpec.parse({ ...base, limits });
  const almost = Object.fromEntries(Object.entries(reached).map(([key, value]) => [key, value - 1]));
  expect(positionOf(aSnapshot(reached), definition, new Set())).toEqual({ kind: "fail", reason: `limit:${name}` });
  expect(positionOf(aSnapshot(almost), definition, new Set())).toEqual({ kind: "model" });
});
