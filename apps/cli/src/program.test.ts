import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "./program.ts";

function everyVerb(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...everyVerb(one)]);
}

const verbs = everyVerb(createProgram());
const verb = (name: string) => verbs.find((one) => one.name() === name);

test("help marks each option that has to be given, and no other", () => {
  const options = verbs.flatMap((one) => one.options);
  const marked = options.filter(({ description }) => description.endsWith(" (required)"));
  expect(marked).toEqual(options.filter(({ mandatory }) => mandatory));
  expect(marked.map(({ long }) => long)).toContain("--workspace");
  expect(verb("delegate")?.helpInformation()).toMatch(/--for <span> .*\(required\)/);
});

test("help names no option that a verb does not take", () => {
  for (const name of ["serve", "worker", "completion"]) expect(verb(name)?.options.map(({ long }) => long)).toEqual([]);
  expect(verb("doctor")?.options.map(({ long }) => long)).toEqual(["--json", "--no-color"]);
});
