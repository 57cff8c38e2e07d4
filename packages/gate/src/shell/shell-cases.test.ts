import { expect, test } from "vitest";
import cases from "./testing/shell-cases.json" with { type: "json" };
import { type CommandRule, judgeCommand } from "../testing/judge-command.ts";

test.each(cases)("$id: $command ($because)", ({ command, rules, expect: expected }) => {
  expect(judgeCommand(command, rules as CommandRule[]).verdict).toBe(expected);
});

test("every case has an id of its own", () => {
  expect(new Set(cases.map(({ id }) => id)).size).toBe(72);
});
