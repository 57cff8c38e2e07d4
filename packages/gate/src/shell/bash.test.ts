import { describe, expect, test } from "vitest";
import type { Unit } from "../unit.ts";
import { allow, judgeCommand } from "../testing/judge-command.ts";
import { mutate, programs, randomCommand, randomFrom } from "./testing/random-commands.ts";
import { parseWithBash, runCommands } from "./testing/run-shells.ts";
import { unitsOfCommand } from "./units.ts";

const random = randomFrom(20_261_130);
const generated = Array.from({ length: 1_000 }, () => randomCommand(random));
const broken = generated.map((command) => mutate(command, random));
const names = [...new Set(programs.map((program) => program.split(" ")[0] ?? ""))];
const entries = [...programs, "echo", "true", ":", "test"];
/** Many shells are started, on machines that may be busy. */
const patience = { timeout: 300_000 };

function unitsOf(command: string): readonly Unit[] {
  const units = unitsOfCommand(command);
  return "kind" in units ? [{ text: command, unkeyable: units.kind }] : units;
}

/** What an entry would call a program that was started. */
function keyOfCall([name = "", subcommand = ""]: readonly string[]): string {
  return name === "git" ? `${name} ${subcommand}` : name;
}

test("what bash cannot parse is never allowed, and nearly all that it can parse is understood", patience, () => {
  const commands = [...generated, ...broken];
  const isParsed = parseWithBash(commands);
  expect(isParsed).toHaveLength(commands.length);
  expect(isParsed.filter((is) => !is).length).toBeGreaterThan(300);
  const misread = commands.filter((command, index) => {
    const { verdict } = judgeCommand(command, allow(...entries));
    return isParsed[index] === false && verdict !== "ask" && verdict !== "invalid";
  });
  expect(misread).toEqual([]);
  const parsed = commands.filter((_, index) => isParsed[index]);
  const understood = parsed.filter((command) => !unitsOf(command).some(({ unkeyable }) => unkeyable === "syntax"));
  expect(understood.length / parsed.length).toBeGreaterThan(0.97);
});

describe.each(["/bin/bash", "/bin/sh"] as const)("%s", (shell) => {
  test("starts no program and writes no file that the units do not name, whatever the verdict", patience, () => {
    const commands = [...generated.slice(0, 100), ...broken.slice(0, 60)];
    const ran = runCommands(shell, commands, names);
    const missed = commands.filter((command, index) => {
      const units = unitsOf(command);
      const { calls = [], files = [] } = ran[index] ?? {};
      const isNamed = ([name]: readonly string[]) =>
        units.some(({ commands: forms = [] }) => forms.some((words) => words[0] === name));
      const isWritten = (file: string) =>
        units.some(
          ({ isWrite, key = "", unkeyable }) =>
            isWrite === true && (unkeyable !== undefined || [`> ${file}`, `> '${file}'`].includes(key)),
        );
      return !(calls.every(isNamed) && files.every(isWritten));
    });
    expect(missed).toEqual([]);
    expect(ran.flatMap(({ calls }) => calls).length).toBeGreaterThan(100);
    expect(ran.flatMap(({ files }) => files).length).toBeGreaterThan(3);
  });

  test("starts nothing of an allowed command that no entry names, and writes nothing", patience, () => {
    const allowed = generated.filter((command) => judgeCommand(command, allow(...entries)).verdict === "allow");
    expect(allowed.length).toBeGreaterThan(50);
    const ran = runCommands(shell, allowed.slice(0, 50), names);
    const calls = ran.flatMap((one) => one.calls);
    expect(calls.length).toBeGreaterThan(30);
    expect(calls.map(keyOfCall).filter((key) => !entries.includes(key))).toEqual([]);
    expect(ran.flatMap(({ files }) => files)).toEqual([]);
  });

  test("hands a program the very words that its unit has", patience, () => {
    const commands = [
      `aa 'a b' "c d" e\\ f g''h "" '' \\; \\$x "\\$x" '$x' "it's" 'say "x"' a\\\nb x#y #c`,
      `aa -- --flag=1 -x= a=b =c "a\\b" 'a\\b' "\\\\" "a\\\nb" '\n' "\t"; aa`,
      `'aa' "x"y'z' \\a\\b; \\aa 1; a"a" 2; aa\\\n 3`,
      `aa "é" '日本' 2>&1 | bb </dev/null && ! cc \\! || { aa x; }`,
    ];
    const ran = runCommands(shell, commands, names);
    commands.forEach((command, index) => {
      const forms = unitsOf(command).flatMap((unit) => unit.commands ?? []);
      const calls = ran[index]?.calls ?? [];
      expect(calls.length).toBeGreaterThan(0);
      for (const call of calls) expect(forms).toContainEqual(call);
    });
  });
});
