import { expect, test } from "vitest";
import { connect } from "./connect.ts";
import { Refusal } from "./refusal.ts";

test.each([
  "postgres://u:geheim/x@127.0.0.1:1/x",
  "postgres://u:geheim%@127.0.0.1/x",
  "mysql://u:geheim@127.0.0.1/x",
  "geheim",
])("what is no address of a database is refused, and not repeated: %s", (url) => {
  let told: unknown;
  try {
    connect(url);
  } catch (error) {
    told = error;
  }
  expect(told).toBeInstanceOf(Refusal);
  expect(String(told)).toContain("postgres://user:password@host/database");
  expect(String(told)).not.toContain("geheim");
});
