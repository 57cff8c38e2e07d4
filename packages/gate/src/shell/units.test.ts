import fc from "fast-check";
import { expect, test } from "vitest";
import { hostileCommands } from "./testing/hostile-commands.ts";
import { parseWithBash } from "./testing/run-shells.ts";
import { allow, judgeCommand } from "../testing/judge-command.ts";
import { unitsOfCommand } from "./units.ts";

/** Of each unit: its text, and its key or why it has none. */
function shown(command: string, root?: string): readonly (readonly [string, string | undefined])[] {
  const units = unitsOfCommand(command, root === undefined ? {} : { root });
  return "kind" in units ? [] : units.map(({ text, key, unkeyable }) => [text, unkeyable ?? key]);
}

test("the text of a unit is what the model wrote, and its key is what an entry must be", () => {
  expect(shown("'git' \"log\" -n1 | head -3 >> 'a b' && mytool --x 'a b' $'c'; /bin/ls")).toEqual([
    ["'git' \"log\" -n1", "git log"],
    ["head -3 >> 'a b'", "head"],
    [">> 'a b'", "> 'a b'"],
    ["mytool --x 'a b' $'c'", "bash_only"],
    ["$'c'", "bash_only"],
    ["/bin/ls", "program_path"],
    [expect.stringContaining("mytool"), "bash_only"],
  ]);
  expect(shown("mytool --x 'a b' c\\'d \"\"")).toEqual([
    ["mytool --x 'a b' c\\'d \"\"", "mytool --x 'a b' 'c'\\''d' ''"],
  ]);
});

test("a command found in another, or in decoded backquotes, is shown as it stands there", () => {
  expect(shown('echo "a $(git log `id \\`ls -l\\``)"').map(([text]) => text)).toEqual([
    'echo "a $(git log `id \\`ls -l\\``)"',
    "git log `id \\`ls -l\\``",
    "id `ls -l`",
    "ls -l",
  ]);
});

test("redirects read freely inside of the root, and nowhere else unasked", () => {
  expect(shown("cat < /srv/a/b", "/srv/a")).toEqual([["cat < /srv/a/b", "cat"]]);
  expect(shown("cat < /srv/ab", "/srv/a")).toEqual([
    ["cat < /srv/ab", "cat"],
    ["< /srv/ab", "< /srv/ab"],
  ]);
  expect(shown("cat < ../b", "/srv/a")[1]).toEqual(["< ../b", "< ../b"]);
  expect(shown("cat < a/../../a/b", "/srv/a")).toHaveLength(1);
});

test("a program known with subcommands has the first of them in its key, another all its words", () => {
  expect(shown("git log -p; npm run x; unknown a b; git")).toEqual([
    ["git log -p", "git log"],
    ["npm run x", "npm run"],
    ["unknown a b", "unknown a b"],
    ["git", "git"],
  ]);
  expect(shown("unknown $X *")).toEqual([["unknown $X *", "expansion"]]);
});

const pieces = fc.constantFrom(
  ..."ls git status ; & && || | |& ( ) { } $( ` ' \" \\ < > >> << <<- <<< <& >& <( E # $ ${ $(( )) [[ ]] (( $' $\"".split(
    " ",
  ),
  ..."if then fi for in do done while case esac function f() time ! coproc select x=1 * ? [a] {a,b} ~ = - -- 0".split(
    " ",
  ),
  ..." |\n|\t|\r|\u00a0|\u200b|é|\u0456|\u2028|😀".split("|"),
);
const garbage = fc.oneof(
  fc.array(pieces, { maxLength: 30 }).map((all) => all.join("")),
  fc.array(pieces, { maxLength: 30 }).map((all) => all.join(" ")),
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 100 }),
);

test("no garbage is ever allowed by entries that name none of it, nor breaks the gate", () => {
  fc.assert(
    fc.property(garbage, (command) => {
      expect(["ask", "invalid"]).toContain(judgeCommand(command, allow("zz", "zz top", "> zz")).verdict);
      expect(unitsOfCommand(command)).not.toEqual([]);
    }),
    { numRuns: 3_000 },
  );
});

test("garbage around an allowed command is allowed only where bash can parse it and every unit has its entry", () => {
  const allowed: string[] = [];
  fc.assert(
    fc.property(garbage, garbage, (before, after) => {
      const command = `${before}ls${after}`;
      if (judgeCommand(command, allow("ls")).verdict !== "allow") return;
      allowed.push(command);
      expect(new Set(shown(command).map(([, key]) => key))).toEqual(new Set(["ls"]));
    }),
    { numRuns: 3_000 },
  );
  const isParsed = parseWithBash(allowed);
  expect(allowed.filter((_, index) => isParsed[index] !== true)).toEqual([]);
});

test.each(Object.entries(hostileCommands))("8 KB of %s are judged in the end, and not allowed", (_what, make) => {
  const command = make(8_000).slice(0, 8_192);
  expect(["ask", "invalid"]).toContain(judgeCommand(command, allow("git status")).verdict);
});
