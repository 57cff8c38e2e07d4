import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "./program.ts";

function everyVerb(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...everyVerb(one)]);
}

const verbs = everyVerb(createProgram());
const verb = (name: string) => verbs.find((one) => one.name() === name);

test("help marks each option that has to be given, and no other", () => {
  for (const one of verbs) {
    const required = one.options.filter(({ mandatory }) => mandatory);
    // The list of switches takes no reason, so that of a switch is asked for by the verb itself.
    const marks = required.length + (one.name() === "kill" ? 1 : 0);
    expect(one.helpInformation().split("(required)").length - 1, one.name()).toBe(marks);
  }
  expect(verb("init")?.helpInformation()).toMatch(/--admin <name> .*\(required\)/);
  expect(verb("delegate")?.helpInformation()).toMatch(/--for <span> .*\(required\)/);
});

test("help names no option that a verb does not take", () => {
  for (const name of ["serve", "worker", "completion"]) expect(verb(name)?.options.map(({ long }) => long)).toEqual([]);
  expect(verb("doctor")?.options.map(({ long }) => long)).toEqual(["--json", "--no-color"]);
});
