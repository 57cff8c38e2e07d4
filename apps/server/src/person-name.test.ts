import { expect, test } from "vitest";
import { likenessOf, personName } from "./person-name.ts";

test.each([
  ["Ada Lovelace", "ada lovelace"],
  ["Ada", "Аda"],
  ["Ada", "АDА"],
  ["Ｐeter", "Peter"],
  ["José", "Jose\u0301"],
])("%j looks like %j", (one, other) => {
  expect(likenessOf(one)).toBe(likenessOf(other));
});

test.each([
  ["Ali", "All"],
  ["José", "Jose"],
  ["Анна", "Ольга"],
])("%j does not look like %j", (one, other) => {
  expect(likenessOf(one)).not.toBe(likenessOf(other));
});

test("a name holds nothing that is not seen, and is written in one way", () => {
  expect(personName.parse("Jose\u0301 O’Neill 3rd")).toBe("José O’Neill 3rd");
  for (const name of [
    " Ada",
    "Ada ",
    "Ada  L",
    "Ada\u00a0L",
    "Ada\ufffc",
    "A\u200bda",
    "A\u3164da",
    "A\u2800da",
    "…",
    " ",
  ]) {
    expect(personName.safeParse(name).success, JSON.stringify(name)).toBe(false);
  }
});
