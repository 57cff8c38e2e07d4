import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a command did when a shell ran it. */
export interface Ran {
  /** The programs that were started, by name, with their arguments. */
  readonly calls: readonly (readonly string[])[];
  /** The files that stand in its folder afterwards. */
  readonly files: readonly string[];
}

const stub = `#!/bin/sh
line=\${0##*/}
for word; do line="$line\x1f$word"; done
printf '%s\\036' "$line" >> "$LOG"
[ "\${0##*/}" != no ]
`;

const runEach = `
shell=$1 work=$2 names=$3 i=0
while [ -e "$work/$i.sh" ]; do
  mkdir "$work/$i" && cd "$work/$i"
  text=$(cat "$work/$i.sh"; printf x)
  LOG="$work/$i.log" PATH="$names" "$shell" -c "\${text%x}" </dev/null >/dev/null 2>&1
  i=$((i+1))
done
`;

const parseEach = `
i=0
while [ -e "$1/$i.sh" ]; do
  bash -n "$1/$i.sh" 2>/dev/null && echo 1 || echo 0
  i=$((i+1))
done
`;

/**
 * Runs each command in a folder of its own, in a shell that finds nothing but stand-ins for the named programs: they note
 * their name and arguments, and fail if they are called `no`. Only for commands that are safe to run.
 */
export function runCommands(
  shell: "/bin/bash" | "/bin/sh",
  commands: readonly string[],
  programs: readonly string[],
): readonly Ran[] {
  return inFolder(commands, (work) => {
    const names = join(work, "names");
    mkdirSync(names);
    writeFileSync(join(names, "stub"), stub);
    chmodSync(join(names, "stub"), 0o755);
    for (const program of programs) symlinkSync("stub", join(names, program));
    drive(runEach, [shell, work, names]);
    return commands.map((_, index) => ({
      calls: readCalls(join(work, `${index}.log`)),
      files: readdirSync(join(work, String(index))),
    }));
  });
}

/** Of each command, whether bash can parse it. */
export function parseWithBash(commands: readonly string[]): readonly boolean[] {
  return inFolder(commands, (work) =>
    drive(parseEach, [work])
      .trim()
      .split("\n")
      .map((line) => line === "1"),
  );
}

function inFolder<T>(commands: readonly string[], use: (work: string) => T): T {
  const work = mkdtempSync(join(tmpdir(), "countersign-shell-test-"));
  try {
    commands.forEach((command, index) => writeFileSync(join(work, `${index}.sh`), command));
    return use(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** One process of bash goes through all of them. */
function drive(script: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("/bin/bash", ["-c", script, "driver", ...args], {
    encoding: "utf8",
    maxBuffer: 100_000_000,
  });
  if (status !== 0) throw new Error(`the driver ended with ${String(status)}: ${stderr}`);
  return stdout;
}

function readCalls(path: string): readonly (readonly string[])[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\x1e")
    .filter((line) => line !== "")
    .map((line) => line.split("\x1f"));
}
