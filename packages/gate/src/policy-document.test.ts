import { describe, expect, test } from "vitest";
import { type JsonPlaces, locateJson } from "./locate-json.ts";
import { readPolicyDocument } from "./policy-document.ts";
import type { LayerName } from "./rule.ts";
import { seededDraw } from "./testing/seeded-draw.ts";

const known = { tools: [{ name: "demo" }] };

function linesOf(text: string, layer: LayerName = "app"): string[] {
  const read = readPolicyDocument(text, known, layer);
  return read.kind === "refused" ? read.problems.map(({ line, path, problem }) => `${line} ${path}: ${problem}`) : [];
}

const whole = `{
  "rules": [
    { "target": { "kind": "tool", "name": "demo" }, "mode": "ask" }
  ],
  "dial": { "level": "low", "expiresAt": "2030-01-01T00:00:00+02:00", "locked": true },
  "approvalPolicy": { "level": "outbound" },
  "denylistSoftened": ["sudo"]
}`;

describe("readPolicyDocument", () => {
  test("reads all that a layer says", () => {
    expect(readPolicyDocument(whole, known, "app")).toEqual({
      kind: "layer",
      layer: {
        rules: [{ target: { kind: "tool", name: "demo" }, mode: "ask" }],
        dial: { level: "low", locked: true, expiresAt: new Date("2029-12-31T22:00:00Z") },
        approvalPolicy: { level: "outbound" },
        denylistSoftened: ["sudo"],
      },
    });
    expect(readPolicyDocument("{}", known, "run")).toEqual({ kind: "layer", layer: { rules: [] } });
  });

  test("AZ20: one bad line refuses the whole file, and is named", () => {
    const bad = whole.replace('"name": "demo"', '"name": "gone"').replace('"low"', '"middle"');
    expect(linesOf(bad)).toEqual([expect.stringMatching(/^5 dial\.level: /)]);
    expect(linesOf(whole.replace('"name": "demo"', '"name": "gone"'))).toEqual([
      '3 rules[0].target.name: there is no tool "gone"; known: demo',
    ]);
  });

  test.each([
    ["text that ends too early", whole.slice(0, -1), 8],
    ["a comma too many", '{\n  "rules": [],\n}', 3],
    ["no JSON", "rules:\n  - x", 1],
  ])("AZ20: %s is refused at its line", (_what, text, line) => {
    expect(linesOf(text)).toEqual([expect.stringMatching(new RegExp(`^${line} : the file is not JSON`))]);
  });

  test("what is nested without end is refused, and not followed to its end", () => {
    expect(linesOf(`{"rules":\n${"[".repeat(200_000)}${"]".repeat(200_000)}}`)).toEqual([
      "2 : the file is not JSON, or nested too deep",
    ]);
  });

  test.each([
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "3000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
  ])("a rule or dial that ends at %s, where not every part of the system can follow, is refused at its line", (at) => {
    const text = `{ "rules": [{ "target": { "kind": "everything" }, "mode": "ask",
      "expiresAt": "${at}" }],
      "dial": { "level": "low",
      "expiresAt": "${at}" } }`;
    expect(linesOf(text)).toEqual([
      "2 rules[0].expiresAt: expected a year from 1970 to 2999",
      "4 dial.expiresAt: expected a year from 1970 to 2999",
    ]);
  });

  test("an unknown key is named where it stands", () => {
    expect(linesOf('{\n  "rules": [],\n  "rulez": [],\n  "dail": {}\n}')).toEqual([
      '3 rulez: Unrecognized key: "rulez"',
      '4 dail: Unrecognized key: "dail"',
    ]);
  });

  test("a key that stands twice is refused: the first would be lost in silence", () => {
    const text = '{\n  "dial": { "level": "none" },\n\n  "dial": {\n "level": "high" } }';
    expect(linesOf(text)).toEqual(['4 dial: "dial" stands here a second time']);
    const rule = '{"rules":[{"target":{"kind":"everything"},"mode":"deny",\n"mode":"allow"}]}';
    expect(linesOf(rule)).toEqual(['2 rules[0].mode: "mode" stands here a second time']);
  });

  test.each(["run", "definition", "workspace"] as const)("the %s may not soften the denylist", (layer) => {
    const text = whole.replace(', "locked": true', "");
    expect(linesOf(text, layer)).toEqual([
      "7 denylistSoftened: only the installation's own file (COUNTERSIGN_POLICY) may soften the denylist; take this out here",
    ]);
  });

  test.each(["run", "definition"] as const)("nothing of the %s can be locked", (layer) => {
    const text = `{ "dial": { "level": "low", "locked": true },
      "approvalPolicy": { "level": "all", "locked": true } }`;
    expect(linesOf(text, layer)).toHaveLength(2);
    expect(linesOf(text, "workspace")).toEqual([]);
  });
});

function located(text: string): JsonPlaces {
  const places = locateJson(text);
  if (places.kind === "broken") throw new Error(`broken at line ${places.line}`);
  return places;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("locateJson", () => {
  test("agrees with JSON.parse on what is JSON, and says where it is not", () => {
    const draw = seededDraw(1);
    const parts = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"',
      "1",
      "-",
      "null",
      "nul",
      " ",
      "\n",
      "\\",
      '{"a":1}',
      "e",
      "\u00a0",
    ];
    for (let round = 0; round < 3_000; round += 1) {
      const text = Array.from({ length: 1 + draw(7) }, () => parts[draw(parts.length)]).join("");
      expect([text, locateJson(text).kind]).toEqual([text, isJson(text) ? "places" : "broken"]);
    }
  });

  test("knows the line of everything, through text that looks like JSON", () => {
    const text = '{"a{":\n["}",\n{"\\"b":\n1}],"c":\n\n"x\\n\\\\"}';
    const places = located(text);
    expect(places.lineOf([])).toBe(1);
    expect(places.lineOf(["a{"])).toBe(2);
    expect(places.lineOf(["a{", 0])).toBe(2);
    expect(places.lineOf(["a{", 1, '"b'])).toBe(4);
    expect(places.lineOf(["c"])).toBe(6);
    expect(places.lineOf(["a{", 7, "x"])).toBe(2);
    expect(places.repeated).toEqual([]);
  });

  test.each(["1", '"x"', "[]", "{}", " null ", "[[],{}]", '{"a":[]}'])("reads %s", (text) => {
    expect(located(text).lineOf(["nowhere"])).toBe(1);
  });
});
