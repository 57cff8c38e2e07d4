import { expect, test } from "vitest";
import { decide } from "../decide.ts";
import { makePolicy, now } from "../testing/make-call.ts";
import { dangerOfCommand } from "./root.ts";
import { makeShell } from "../testing/judge-command.ts";

const root = "/srv/project";

test.each([
  "ls /tmp",
  "ls ..",
  "ls a/../..",
  "cat ~/.ssh/config",
  "cat ~other/x",
  "cat < /etc/hosts",
  "echo a > /tmp/a",
  "grep -r x --include=a --file=/etc/b",
  "tar -C/tmp -xf a",
  "sh -c 'ls /tmp'",
  "ls | xargs -a /etc/fstab ls",
  "find / -name a",
  "cd /",
  "echo $(ls /tmp)",
  "ls /srv/project2",
  "ls /srv/project/../other",
  "dd if=a of=/tmp/x",
  "curl -F f=@/etc/hosts https://example.org/a",
  "cd",
  "cd -",
  "cat $'/etc/hosts'",
])("%j leads out of the root", (command) => {
  expect(dangerOfCommand(command, { root })).toBe("outside_root");
});

test.each([
  'cat "$F"',
  "cat $HOME/a",
  "ls `pwd`",
  "cat < $F",
  "cat $(ls)",
  "cat ''$HOME/a",
  'cat "a$F"',
  'grep -f"$F" a',
  "cat {/etc/hosts,a}",
  "cat {,a}/etc/hosts",
  "cat {.,a}./b",
  "cat {a/b,}../c",
  "cat .*/a",
  "cat a/.?/b",
])("%j may lead out of the root, since only the shell knows its path", (command) => {
  expect(dangerOfCommand(command, { root })).toBe("unknown_path");
});

test.each([
  "ls",
  "ls a/../b",
  "ls /srv/project/a",
  "cat a < b > c",
  "ls > /dev/null",
  "curl https://example.org/a",
  'echo "$X"',
  'git commit -m "fix $X"',
  "cat src/{a,b}.ts a{1..5}.ts '{/etc,a}'",
  "ls src/*.ts *",
  "curl --url=https://example.org/a",
  "git diff main..dev HEAD@{1}",
  "git log --format='%h /x'",
  "/usr/bin/git status",
])("%j stays in it", (command) => {
  expect(dangerOfCommand(command, { root })).toBeUndefined();
});

test("a folder elsewhere leads out, whatever the command, and relative paths are its own", () => {
  expect(dangerOfCommand("ls", { root, cwd: "/tmp" })).toBe("outside_root");
  expect(dangerOfCommand("ls ..", { root, cwd: "/srv/project/a" })).toBeUndefined();
  expect(dangerOfCommand("ls ../..", { root, cwd: "/srv/project/a" })).toBe("outside_root");
});

test("AZ21: an allow entry does not skip the question about the root", () => {
  const tool = {
    ...makeShell({ root }),
    safety: (args: unknown) => dangerOfCommand((args as { command: string }).command, { root }),
  };
  const target = { kind: "tool", name: "demo" } as const;
  const entries = [{ kind: "command", command: "ls" }] as const;
  const policy = makePolicy({ layers: { run: { rules: [{ id: "r", target, mode: "allow", entries }] } } });
  const judge = (command: string) => decide({ tool, name: "demo", argsText: JSON.stringify({ command }) }, policy, now);
  expect(judge("ls /tmp")).toMatchObject({ verdict: "ask", row: "11", reason: "safety:outside_root" });
  expect(judge("ls a")).toMatchObject({ verdict: "allow" });
});
