import fc from "fast-check";
import { goodBody, type Operation } from "./operations.ts";

/** Ids of what there is, by the part of the path that comes before them. */
export type Ids = Readonly<Record<string, readonly string[]>>;

export interface OddRequest {
  readonly operation: Operation;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Which of the senders sends it. */
  readonly who: number;
}

const oddNumbers = [0, -1, 1e308, 2 ** 53];
const oddTexts = ["", " ", "\0", "a\0b", "\ud800", "\u202e", "'; drop table runs; --", "x".repeat(5_000)];
const oddTimes = ["NaN", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
const oddShapes = [null, true, [], {}, [[]], { a: null }, ["mail.send"]];
const oddValues: readonly unknown[] = [...oddNumbers, ...oddTexts, ...oddTimes, ...oddShapes];

const nasty = fc.oneof(
  fc.constantFrom<unknown>(...oddValues),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** What HTTP lets into a header: visible Latin 1 and blanks. */
const headerText = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
    .map((n) => String.fromCharCode(n)),
  maxLength: 60,
});

const grapheme = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
const cursors = ["audit 5", "runs.all x", "definitions \0", "users 1 2", "approvals.pending 1"].map((text) =>
  Buffer.from(text).toString("base64url"),
);
const queryTexts = ["0", "1", "-1", "200", "1e3", "x", "open", "paused", "pending", "true", ""];
const queryValues = [...queryTexts, "2030-01-01T00:00:00Z", ...oddTimes];

/** Mostly not there. */
function seldom<T>(arbitrary: fc.Arbitrary<T>, oneIn: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** Requests to these routes, from quite right to nonsense in every part. */
export function oddRequests(operations: readonly Operation[], idsOfKind: Ids): fc.Arbitrary<OddRequest> {
  const ids = Object.values(idsOfKind).flat();
  const users = fc.constantFrom(...(idsOfKind["users"] ?? ids));
  const queryValue = fc.oneof(
    fc.constantFrom(...queryValues),
    fc.constantFrom(...cursors),
    fc.constantFrom(...ids),
    grapheme,
  );
  const headers = fc.record({
    "if-match": fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<string | undefined>('"1"', '"1"', '"2"', undefined) },
      { weight: 1, arbitrary: fc.oneof(fc.constantFrom("*", '"99999999999"'), headerText) },
    ),
    "idempotency-key": seldom(fc.oneof(fc.constantFrom("a", "b", "c", "d", "e"), headerText), 5),
    "act-for": seldom(fc.oneof(users, headerText), 25),
    "x-request-id": seldom(headerText, 10),
    "content-type": seldom(fc.constantFrom("text/plain", "application/json; charset=utf-16", ""), 25),
  });
  return fc.constantFrom(...operations).chain((operation) => {
    const own = idsOfKind[operation.path.split("/")[2] ?? ""] ?? ids;
    const parts = {
      id: fc.oneof(
        { weight: 10, arbitrary: fc.constantFrom(...own) },
        { weight: 1, arbitrary: fc.oneof(fc.constantFrom(...ids), fc.uuid(), grapheme.map(encodeURIComponent)) },
      ),
      name: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom("smtp", "mail.send", "kb.read") },
        { weight: 1, arbitrary: fc.constantFrom("..", "%00", "x y", "X").map(encodeURIComponent) },
      ),
      about: fc.oneof(users, fc.constantFrom(...ids)),
      query: queryOf(operation, queryValue),
      headers,
      body: fc.constantFrom("good", "good", "good", "spoiled", "spoiled", "any", "text"),
      places: fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }),
      value: nasty,
      who: fc.nat(7),
    };
    return fc.record(parts).map((drawn) => {
      const path = operation.path.replace("{id}", drawn.id).replaceAll(/\{(?:name|capability)\}/g, drawn.name);
      const good = goodBody(operation, drawn.about);
      const bodies = {
        good: JSON.stringify(good),
        spoiled: JSON.stringify(spoil(good, drawn.places, drawn.value)),
        any: JSON.stringify(drawn.value),
        text: JSON.stringify(drawn.value).slice(1),
      };
      return {
        operation,
        path: `${path}?${new URLSearchParams(drawn.query).toString()}`,
        headers: definedOf({ "content-type": "application/json", ...definedOf(drawn.headers) }),
        body: operation.hasBody ? bodies[drawn.body] : undefined,
        who: drawn.who,
      };
    });
  });
}

/** Mostly what the route knows; what makes it wait is left out. */
function queryOf({ query }: Operation, value: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  const known = query.filter(({ name }) => name !== "wait");
  return fc
    .dictionary(fc.constantFrom(...known.map(({ name }) => name), "more"), value, { maxKeys: 2 })
    .chain((drawn) => {
      const moments = known.filter(({ name, isMoment }) => isMoment && name in drawn).map(({ name }) => name);
      return fc
        .constantFrom(...oddTimes, "2030-01-01T00:00:00Z")
        .map((time) => ({ ...drawn, ...Object.fromEntries(moments.map((name) => [name, time])) }));
    });
}

/** The body with one of its places, however deep, replaced, or something added. */
function spoil(body: unknown, at: readonly number[], value: unknown): unknown {
  if (typeof body === "string" && /^\d{4}-/.test(body)) return oddTimes[(at[0] ?? 0) % oddTimes.length];
  if (typeof body !== "object" || body === null || Array.isArray(body) || at.length === 0) return value;
  const keys = [...Object.keys(body), "more"];
  const key = keys[(at[0] ?? 0) % keys.length] ?? "more";
  return { ...body, [key]: spoil((body as Record<string, unknown>)[key], at.slice(1), value) };
}

function definedOf(entries: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
