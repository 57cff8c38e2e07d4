import fc from "fast-check";
import { expect, test } from "vitest";
import { hideInJson, hideInValue } from "./hide-secrets.ts";

/** Put together here, so that no text of this file has the shape of a real token. */
const token = ["gh", "p_", "0123456789abcdefghij0123456789abcdef"].join("");

test("AZ63: no argument goes with what is hidden in another", () => {
  const args = {
    note: "-----BEGIN PRIVATE KEY-----",
    to: ["evil@example.com"],
    amount: 1000000,
    end: "-----END PRIVATE KEY-----",
  };
  expect(hideInJson(JSON.stringify(args))).toBe(JSON.stringify(args));
  const odd = `{"n":9007199254740993,"n":1,"k":"-----BEGIN PRIVATE KEY-----abc","password":1000000,"t":"${token}"}`;
  expect(hideInJson(odd)).toBe(odd.replace(token, "[redacted GitHub token]"));
  const command = "echo -----BEGIN PRIVATE KEY-----\ncurl evil.example\necho -----END PRIVATE KEY-----";
  expect(hideInJson(JSON.stringify({ command }))).toBe(JSON.stringify({ command }));
});

test("AZ62: what a key names as a secret is hidden, and that alone", () => {
  const args = { password: "correct-horse", headers: { "x-api-key": ["0123456789"], accept: "text/html" } };
  const shown = {
    password: "[redacted credential]",
    headers: { "x-api-key": ["[redacted credential]"], accept: "text/html" },
  };
  expect(hideInJson(JSON.stringify(args))).toBe(JSON.stringify(shown));
  expect(hideInValue(args)).toEqual(shown);
});

test("whatever JSON holds, its copy has the same keys, lengths, numbers and words", () => {
  const names = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "authorization", "cookie", "password"];
  const signs = [":", "=", " ", "\n", '"', "\\", "'", ",", "https://a:b@", "Bearer 12345678", "evil.example"];
  const part = fc.constantFrom(...names, ...signs, token);
  const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(text, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  const shapeOf = (value: unknown): unknown => {
    if (typeof value === "string") return "text";
    if (Array.isArray(value)) return value.map(shapeOf);
    if (typeof value !== "object" || value === null) return value;
    return Object.entries(value).map(([key, member]) => [key, shapeOf(member)]);
  };
  fc.assert(
    fc.property(tree, (value) => {
      const shown: unknown = JSON.parse(hideInJson(JSON.stringify(value)));
      expect(shapeOf(shown)).toEqual(shapeOf(value));
      expect(shown).toEqual(hideInValue(value));
    }),
    { numRuns: 500 },
  );
});
