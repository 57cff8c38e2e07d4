import { describe, expect, test } from "vitest";
import { decide } from "../decide.ts";
import { makePolicy, now } from "../testing/make-call.ts";
import { allow, type CommandRule, deny, judgeCommand, makeShell } from "../testing/judge-command.ts";
import { unitsOfCommand } from "./units.ts";

function verdictOf(command: string, rules: readonly CommandRule[]): string {
  return judgeCommand(command, rules).verdict;
}

function reasonOf(command: string, rules: readonly CommandRule[]): string {
  return judgeCommand(command, rules).reason;
}

describe("a command line is judged part by part", () => {
  test.each(["git status && rm x", "git status; rm x", "rm x && git status", "git status | rm x", "git status\nrm x"])(
    "AZ01: of %j the part without an entry is named",
    (command) => {
      expect(judgeCommand(command, allow("git status"))).toMatchObject({
        verdict: "ask",
        reason: "allowlist_miss:rm x",
      });
    },
  );

  test.each([
    "cd d && python3 s.py",
    "cd d; ls",
    "cd d\nls",
    "cd d || ls",
    "(cd d; ls)",
    "while cd d; do true; done",
    "cd d & ls",
  ])("AZ02: an entry for cd covers nothing after it in %j", (command) => {
    expect(verdictOf(command, allow("cd", "ls", "true"))).toBe("ask");
  });

  test("AZ02: cd by itself, or at the end, has its entry", () => {
    expect(verdictOf("cd d", allow("cd"))).toBe("allow");
    expect(verdictOf("ls; cd d", allow("cd", "ls"))).toBe("allow");
  });

  test.each(["ls d && date +%s", "date +%s && ls d"])(
    "AZ03: where nobody can answer, %j is denied with the part that has no entry",
    (command) => {
      const target = { kind: "tool", name: "demo" } as const;
      const entries = [{ kind: "command", command: "ls" }] as const;
      const policy = makePolicy({
        unattended: "deny",
        canAnybodyAnswer: false,
        layers: { workspace: { rules: [{ id: "r", target, mode: "allowlist", entries }] } },
      });
      const call = { tool: makeShell(), name: "demo", argsText: JSON.stringify({ command }) };
      expect(decide(call, policy, now)).toMatchObject({
        verdict: "deny",
        reason: "no_approver",
        unasked: { reason: "allowlist_miss:date +%s" },
      });
    },
  );

  test.each([
    "git fetch && git pull && git clean -fd",
    "git clean -fd && git fetch",
    "git fetch | git clean -fd",
    "if git fetch; then git pull; else git clean -fd; fi",
    "for f in a b; do git clean -fd; done",
    "case a in a) git clean -fd;; esac",
    "f() { git clean -fd; }; f",
    "git fetch & git clean -fd",
    "! git clean -fd",
    "{ git fetch; git clean; } > /dev/null",
    "git -C d clean",
    "git --git-dir d --no-pager clean -x",
    "git --unheard-of d clean",
    "/usr/bin/git clean",
    "'git' \"cl\"'ean'",
    "git \\\n clean",
    "[[ a && b ]]; git clean",
    "git fetch; echo 'unfinished; git clean\ngit clean",
  ])("AZ04: a deny entry counts wherever it stands: %j", (command) => {
    const rules = [...allow("git fetch", "git pull", "echo"), ...deny("git clean")];
    const isBroken = command.includes("unfinished");
    expect(verdictOf(command, rules)).toBe(isBroken ? "ask" : "deny");
  });

  test.each([
    "cat <<'E' | pandoc\nbody\nE",
    "cat <<E | pandoc\nbody\nE",
    "pandoc <<-E\n\tbody\n\tE",
    "cat <<E; pandoc\nE\n",
  ])("AZ05: a here-document does not hide what follows it: %j", (command) => {
    expect(reasonOf(command, allow("cat"))).toContain("pandoc");
  });

  test.each([
    "true && rm f",
    "true || rm f",
    "true > f",
    "true; > f",
    "true >> f",
    "true >| f",
    "true 2> f",
    "true &> f",
    "true <> f",
  ])("AZ06: %j asks for what comes with true", (command) => {
    expect(verdictOf(command, allow("true", "rm g"))).toBe("ask");
  });

  test.each([
    "git status #\nrm x",
    "git status # a \\\nrm x",
    "# a\nrm x",
    "git status #'\nrm x",
    "git status;#\trm y\nrm x",
  ])("AZ07: a comment ends with its line: %j", (command) => {
    expect(reasonOf(command, allow("git status"))).toBe("allowlist_miss:rm x");
  });
});

describe("substitutions and redirects are parts of their own", () => {
  test.each([
    "echo p > ~/.bashrc",
    "echo p > f",
    "echo p >> f",
    "echo p >f",
    "> f echo p",
    "echo p >& f",
    "{ echo p; } > f",
    "echo p | tee f",
  ])("AZ08: %j writes a file and asks", (command) => {
    expect(verdictOf(command, allow("echo"))).toBe("ask");
  });

  test("AZ08: only an entry for the very file lets a redirect write it", () => {
    expect(verdictOf("echo p > f", allow("echo", "> f"))).toBe("allow");
    expect(verdictOf("echo p > g", allow("echo", "> f"))).toBe("ask");
    expect(verdictOf('echo p > "$F"', allow("echo", "> $F", '> "$F"'))).toBe("ask");
  });

  test.each([
    "echo p > /dev/null",
    "echo p 2>&1",
    "echo p >&2",
    "cat < notes.txt",
    "cat < ./a/../notes.txt",
    "cat 0< a",
  ])("AZ08: %j writes nothing and reads only here", (command) => {
    expect(verdictOf(command, allow("echo", "cat"))).toBe("allow");
  });

  test.each([
    "cat < /etc/hosts",
    "cat < ../a",
    "cat < a/../../b",
    "cat < ~/a",
    "cat < $F",
    "cat < *",
    "cat < /dev/tcp/h/1",
  ])("AZ08: %j reads from elsewhere and asks", (command) => {
    expect(verdictOf(command, allow("cat"))).toBe("ask");
  });

  test.each([
    'git commit -m "a `id`"',
    'git commit -m "a $(id)"',
    'git commit -m "a ${V:-$(id)}"',
    'git commit -m "$((1+$(id)))"',
    'git commit -m "$(git log "$(id)")"',
  ])("AZ09: %j runs id", (command) => {
    expect(reasonOf(command, allow("git commit", "git log"))).toMatch(/id|unknown_option/);
    expect(verdictOf(command, [...allow("git commit", "git log"), ...deny("id")])).toBe("deny");
  });

  test.each([
    "echo $(rm x)",
    "echo hi > $(rm x)",
    "cat <<E\n$(rm x)\nE",
    "cat <<-E\n\t`rm x`\n\tE",
    "cat <<< $(rm x)",
    "echo <(rm x)",
    "echo >(rm x)",
    "echo `echo \\`rm x\\``",
    "echo ${v#$(rm x)}",
    "echo ${v/a/$(rm x)}",
    "v=$(rm x)",
    "v=(a $(rm x))",
    "for f in $(rm x); do true; done",
    "case $(rm x) in a) ;; esac",
    "case a in $(rm x)) ;; esac",
    "[[ -n $(rm x) ]]",
    "echo $(( $(rm x) ))",
    "echo $[ $(rm x) ]",
    "coproc rm x",
    "echo ${a[$(rm x)]}",
    'echo "$(cat <<E\n$(rm x)\nE\n)"',
    "select f in a; do rm x; done",
    "until rm x; do true; done",
    "(( 1 )) && rm x",
    "echo $'a\\'; rm x; #'",
    "((rm x))",
    "[[ a && rm x ]]",
  ])("AZ10: rm is found in %j", (command) => {
    expect(verdictOf(command, [...allow("echo", "cat", "true"), ...deny("rm")])).toBe("deny");
  });

  test.each([
    "echo 'a[$(rm x)]'; echo ${!_}",
    "echo 'a[$(rm x)]'; echo \"${!_}\"",
    "echo 'a[$(rm x)]'; echo ${x:-${!_}}",
    "echo 'a[$(rm x)]'; echo {${!_},b}",
    "echo 'a[$(rm x)]'; cat <<E\n${!_}\nE",
    "echo 'a[$(rm x)]'; cat < ${!_}",
    "echo 'a[$(rm x)]'; echo $((_))",
    "echo 'a[$(rm x)]'; echo ${x:_}",
    "echo 'a[$(rm x)]'; echo ${x[_]}",
    "echo 'a[$(rm x)]'; test -v $_",
    "echo '$(rm x)'; echo ${_@P}",
    "echo $(( $(echo 'a[$(rm x)]') ))",
    "echo $(( 1 + `echo 'a[$(rm x)]'` ))",
    "echo $[ $(echo 'a[$(rm x)]') ]",
    "echo $(( 1$(echo 'a[$(rm x)]') ))",
    "echo ${x:$(echo 'a[$(rm x)]')}",
    "echo ${x[$(echo 'a[$(rm x)]')]}",
    "true {a[_]}> /dev/null",
  ])("AZ10: %j evaluates what a variable holds or a command prints, and asks", (command) => {
    expect(verdictOf(command, allow("echo", "cat", "test", "true"))).toBe("ask");
  });

  test("AZ10: the body of a quoted here-document is text", () => {
    for (const end of ["'E'", '"E"', "\\E"])
      expect(verdictOf(`cat <<${end}\n$(rm x)\nE`, [...allow("cat"), ...deny("rm")])).toBe("allow");
  });
});

describe("what cannot be understood asks", () => {
  test.each(["", " ", "\n", "# a comment", "< f", "git diff --no-index -- a b"])(
    "AZ18: %j runs nothing that an entry covers",
    (command) => {
      expect(verdictOf(command, [])).toBe("ask");
      expect(verdictOf(command, allow("ls"))).toBe("ask");
    },
  );

  test("AZ18: there is always a unit", () => {
    for (const command of ["", "#", "\n\n", "< f", ";"]) expect(unitsOfCommand(command)).not.toEqual([]);
  });

  test.each([
    "ls\0",
    "l\0s",
    "\0",
    "ls # \0",
    "ls '\0'",
    "ls \u0007",
    "ls \u009b",
    "ls \ud800",
    `ls ${"x".repeat(8_190)}`,
    `ls ${"é".repeat(4_095)}`,
    "ls;".repeat(65),
    "ls|".repeat(64) + "ls",
    `sh -c '${"ls;".repeat(64)}'`,
  ])("AZ19: %j is refused before any rule", (command) => {
    for (const rules of [allow("ls"), deny("ls")])
      expect(judgeCommand(command, rules)).toMatchObject({ verdict: "invalid", row: "2" });
  });

  test("AZ19: up to the bounds it is not", () => {
    expect(verdictOf("ls;".repeat(64), allow("ls"))).toBe("allow");
    expect(verdictOf(`ls ${"x".repeat(8_189)}`, allow("ls"))).toBe("allow");
    expect(verdictOf("ls\t'a\r\nb'", allow("ls"))).toBe("allow");
  });

  test.each([
    "ls (",
    "ls )",
    "ls &&",
    "ls |",
    "ls;;",
    "ls 'a",
    'ls "a',
    "ls `a",
    "ls $(a",
    "ls ${a",
    "if ls; then",
    "ls < ",
    "{ ls",
    "( ls",
    "ls )(",
    "done",
    "fi",
    "ls; }",
    "ls <<E",
    "ls <<'E\nE",
    "!",
    "time",
    "ls\n;ls",
    "ls & ; ls",
    "for",
    "ls $((",
    "function",
    "case a in",
    "b(",
    "ls\\",
  ])("%j is no sentence of the shell, and asks", (command) => {
    expect(verdictOf(command, allow("ls", "b", "!", "time", "done", "fi", "for", "function"))).toBe("ask");
  });
});
