import { expect, test } from "vitest";
import { listOf, readEnvironment } from "./read-environment.ts";
import { Refusal } from "./refusal.ts";

const schema = {
  safeParse: () =>
    ({
      success: false,
      error: {
        issues: [
          { path: ["PORT"], message: "expected a number" },
          { path: ["DATABASE_URL"], message: "expected an address" },
        ],
      },
    }) as const,
};

test("an environment that cannot be used is refused with every problem by its variable, and with none of its values", () => {
  const read = () => readEnvironment(schema, { PORT: "s3cret", DATABASE_URL: "" }, "server");
  expect(read).toThrow(Refusal);
  expect(read).toThrow(
    "The server cannot start with this environment:\n  PORT: expected a number\n  DATABASE_URL: is not set; expected an address\nSet these variables and start again.",
  );
});

test("a list of a variable has no empty entries", () => {
  expect(listOf(" a, b ,,")).toEqual(["a", "b"]);
  expect(listOf(undefined)).toEqual([]);
});
