import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { isInterpreter, isStateBuiltin } from "./programs.ts";
import { isHarmlessSedScript } from "./sed-script.ts";
import { allow, type CommandRule, deny, judgeCommand, makeShell } from "../testing/judge-command.ts";
import { isWrapper } from "./wrappers.ts";

function verdictOf(command: string, rules: readonly CommandRule[]): string {
  return judgeCommand(command, rules).verdict;
}

test.each([
  "eval",
  "bash",
  "sh",
  "zsh",
  "python3",
  "python3.12",
  "node",
  "perl",
  "awk",
  "source",
  ".",
  "/bin/bash",
  "psql",
])("AZ11: %s is never allowed by an entry, whatever it says", (name) => {
  expect(isInterpreter(name.split("/").at(-1) ?? "")).toBe(true);
  for (const command of [`${name} s.sh`, `${name} "$X"`, `${name} -c 'id'`, name])
    expect(verdictOf(command, allow(name, command, `${name} s.sh`))).toBe("ask");
});

test.each(["yarn test", "yarn", "yarn --cwd d test", "/usr/bin/yarn test", "command yarn test", "y''arn test"])(
  "AZ12: a deny entry for yarn reaches %j",
  (command) => {
    expect(verdictOf(command, [...allow("yarn test"), ...deny("yarn")])).toBe("deny");
  },
);

test.each(["yarnpkg test", "my-yarn test", "echo yarn", "ls yarn"])(
  "AZ12: a deny entry for yarn does not reach %j, which has other words",
  (command) => {
    expect(verdictOf(command, [...allow("echo", "ls"), ...deny("yarn")])).not.toBe("deny");
  },
);

test.each(["./git status", "/x/git status", "../git status", "d/git status", "~/git status", "$PWD/git status"])(
  "AZ13: an entry for git status does not cover %j",
  (command) => {
    expect(verdictOf(command, allow("git status"))).toBe("ask");
  },
);

test("AZ13: a program by its path is covered by an entry with that same path, if it is absolute", () => {
  expect(verdictOf("/usr/bin/git status -s", allow("/usr/bin/git status"))).toBe("allow");
  expect(verdictOf("/usr/bin//git status", allow("/usr/bin/git status"))).toBe("ask");
  expect(verdictOf("/opt/git status", allow("/usr/bin/git status", "git status"))).toBe("ask");
  expect(verdictOf("./git status", allow("./git status"))).toBe("ask");
  expect(verdictOf("/usr/bin/rg --pre sh x", allow("/usr/bin/rg"))).toBe("ask");
});

test.each(["git status", "git diff", "git log -p", "/usr/bin/git status", "ls; git status"])(
  "AZ14: in a repository of strangers %j asks, so that nothing its configuration names is started",
  (command) => {
    const tool = makeShell({ isUntrusted: true }, "off");
    expect(judgeCommand(command, allow("git status", "git diff", "git log", "ls"), tool)).toMatchObject({
      verdict: "ask",
      reason: "uninspectable:untrusted_repository",
    });
  },
);

test.each([
  ["rg", "rg --pre sh x"],
  ["rg", "rg \\--pre sh x"],
  ["rg", "rg '--pre' sh x"],
  ["rg", 'rg --p"re" sh x'],
  ["rg", "rg --pre=sh x"],
  ["rg", "rg -nz x"],
  ["rg", "rg --search-zip x"],
  ["rg", "rg $X y"],
  ["rg", 'rg "$X" y'],
  ["rg", "rg a$X"],
  ["rg", "rg x *"],
  ["rg", "rg {--pre,sh} x"],
  ["rg", "rg `cat f`"],
  ["find", "find . -delete"],
  ["find", "find . -exec id ;"],
  ["find", "find . -okdir id {} +"],
  ["find", "find . -fprintf f x"],
  ["sort", "sort -uo f f"],
  ["sort", "sort --out=f f"],
  ["sort", "sort f -of"],
  ["sort", "sort --compress-prog=id f"],
  ["sed", "sed -ni p f"],
  ["sed", "sed --in-pl p f"],
  ["sed", "sed -f s f"],
  ["sed", "sed 'w f' g"],
  ["sed", "sed 's/a/b/w f' g"],
  ["sed", "sed 's/a/id/e' g"],
  ["sed", "sed 1e g"],
  ["sed", "sed -e p -e 'w f' g"],
  ["sed", 'sed "$X" f'],
  ["sed", "sed"],
  ["uniq", "uniq a b"],
  ["uniq", "uniq *"],
  ["date", "date -s 0"],
  ["tree", "tree -o f"],
  ["diff", "diff -l a b"],
  ["fd", "fd -x id"],
  ["printf", "printf -v PATH x"],
  ["test", "test -v 'a[$(id)]'"],
  ["[", "[ -v 'a[$(id)]' ]"],
  ["base64", "base64 -o f"],
  ["git log", "git log --output=f"],
  ["git log", "git log --outp f"],
  ["git diff", "git diff --ext-diff"],
  ["git show", "git show --textconv"],
  ["git grep", "git grep -Oid x"],
  ["git fetch", "git fetch --upload-pack=id x"],
  ["git push", "git push --receive-pack=id x"],
  ["git clone", "git clone -c core.pager=id x"],
  ["git clone", "git clone --config core.pager=id x"],
  ["git rebase", "git rebase -x id"],
  ["git archive", "git archive -o f HEAD"],
  ["git bisect", "git bisect run id"],
  ["git submodule", "git submodule foreach id"],
  ["git config", "git config core.pager id"],
  ["git difftool", "git difftool -x id"],
  ["npm test", "npm test --script-shell=id"],
  ["npm exec", "npm exec id"],
  ["cargo build", "cargo build --config a=b"],
  ["cargo test", "cargo test --manifest-path /tmp/x/Cargo.toml"],
  ["cargo doc", "cargo doc --open"],
  ["go test", "go test -exec id"],
  ["go build", "go build -toolexec=id"],
  ["go vet", "go vet --vettool=id"],
  ["go test", "go test -test.cpuprofile=f"],
  ["go build", "go build -gcflags=-cpuprofile=f"],
  ["npm test", "npm test -script-shell=id"],
  ["npm test", "npm test ---script-shell=id"],
  ["npm test", "npm test -script-sh=id"],
  ["npm init", "npm init id"],
  ["pnpm install", "pnpm install --config.script-shell=id"],
  ["git merge-index", "git merge-index id -a"],
  ["git read-tree", "git read-tree --index-output=f HEAD"],
  ["git interpret-trailers", "git interpret-trailers --in-place f"],
  ["git checkout-index", "git checkout-index --prefix=/tmp/ -a"],
  ["git fetch", "git fetch ext::id"],
  ["git clone", "git clone 'ext::sh -c id'"],
  ["git log", "git log --help"],
  ["file", "file -z f"],
  ["date", "date 010100002030"],
])("AZ15: an entry for %s does not cover %j, which runs or writes more", (entry, command) => {
  expect(verdictOf(command, allow(entry))).toBe("ask");
});

test.each([
  ["rg", "rg -{-pre=id,n} x"],
  ["rg", "rg --{pre=id,pretty} x"],
  ["rg", 'rg "--${X:-pre}=id" x'],
  ["rg", 'rg -"${X:--pre=id}" x'],
  ["rg", "rg --*=id x"],
  ["sort", "sort --{output=f,unique} a"],
  ["find", "find . -{delete,a=b}"],
  ["git log", "git log -{-output=f,p}"],
  ["git log", 'git log --out"put"{=f,=g}'],
  ["git log", "git log --[o]utput=f"],
])(
  "AZ15: an entry for %s does not cover %j, of which the shell makes an option that runs or writes",
  (entry, command) => {
    expect(verdictOf(command, allow(entry))).toBe("ask");
  },
);

test.each([
  "docker exec -i c sh",
  "docker compose -f a run b sh",
  "uv run python s.py",
  "poetry run x",
  "xonsh",
  "at now",
])("AZ11: an entry with the very words of %j, which runs another program, covers it with no input", (command) => {
  expect(verdictOf(command, allow(command))).toBe("ask");
  expect(verdictOf(`${command} <<< 'rm x'`, allow(command))).toBe("ask");
});

test("AZ11: what only shares the program with those has its entry", () => {
  for (const command of [
    "docker ps",
    "docker compose ps",
    "uv sync",
    'git status --format="$X"',
    "date +%s",
    "date -d 2026-01-01",
  ])
    expect(verdictOf(command, allow(command, "git status", "date"))).toBe("allow");
});

test.each([
  ["rg", "rg -n --pretty 'a b' src"],
  ["rg", "rg -e x -g '*.ts'"],
  ["find", "find . -type f -name '*.ts' -not -path './a/*'"],
  ["sort", "sort -u -k2,2n f"],
  ["sed", "sed -n '/a/,/b/{p;}' f"],
  ["sed", "sed -e 's/a/b/g' -e '2d' f"],
  ["sed", "sed -E 's|(a)/[^/]*|\\1|' f.ts"],
  ["git log", "git log --oneline -n 5 -- a"],
  ["git diff", "git diff --stat HEAD~1"],
  ["git switch", "git switch -c new"],
  ["git commit", "git commit -m 'Größe' --author 'A <a@b>'"],
  ["echo", 'echo "$X" $Y *'],
  ["cat", "cat $(ls)", "ls"],
  ["printf", "printf '%s\\n' \"$X\""],
  ["npm test", "npm test"],
  ["cargo build", "cargo build --release"],
  ["go test", "go test ./... -run X"],
  ["[", "[ a = b ]"],
])("an entry for %s covers %j", (entry, command, ...more) => {
  expect(verdictOf(command, allow(entry, ...more))).toBe("allow");
});

test.each([
  "export PAGER=x; git branch",
  "PAGER=x git branch",
  "PAGER=x; git branch",
  "declare -x PAGER=x; git branch",
  "read PAGER < f; git branch",
  "set -a; git branch",
  "unset PATH; git branch",
  "for PAGER in x; do git branch; done",
  "echo ${PAGER:=x}; git branch",
  "printf -v PAGER x; git branch",
  "hash -p f git; git branch",
  "alias git=id; git branch",
  "git() { id; }; git branch",
  "function git { id; }; git branch",
  "source f; git branch",
  "exec > f; git branch",
  "trap id EXIT; git branch",
  "pushd d; git branch",
  "echo $((PATH=1)); git branch",
  "PATH+=:d git branch",
  "a[0]=1 git branch",
  "echo ${a@P}; git branch",
  "printf '%n' PATH; git branch",
  "printf 'xx%5ln' PATH; git branch",
  'printf "a$X" PATH; git branch',
  "printf a{%n,b} PATH; git branch",
  "cd d; > f",
])("AZ16: %j changes what git branch means, and asks", (command) => {
  const names = "export declare read set unset hash alias source exec trap pushd echo printf for cd".split(" ");
  expect(verdictOf(command, allow("git branch", ...names))).toBe("ask");
});

const wrapped = [
  "env git status",
  "env -u C A=b git status",
  "command git status",
  "nice -n 5 git status",
  "timeout 5 git status",
  "nohup git status",
  "xargs git status",
  "setsid git status",
  "stdbuf -oL git status",
  "sh -c 'git status'",
  "bash -lc 'git status'",
  "find . -exec git status {} ;",
  "sudo -u root git status",
];

test.each(wrapped)("AZ17: an entry for git status does not reach through a wrapper: %j", (command) => {
  const own = command.split(" ")[0] ?? "";
  expect(verdictOf(command, allow("git status", own, command))).toBe("ask");
});

test.each(wrapped)("AZ17: a deny entry for git status does: %j", (command) => {
  expect(verdictOf(command, deny("git status"))).toBe("deny");
});

test.each([
  "find . -exec rm {} \\;",
  "find . -name a -execdir sh -c 'rm \"$1\"' _ {} +",
  "xargs rm < l",
  "xargs -I{} -P 4 rm {}",
  "xargs -0 -n1 sh -c 'rm $0'",
  "sudo -u a -- rm x",
  "sudo A=b rm x",
  "env -i A=b nice -n 5 timeout -k 1 5 rm x",
  "env -S 'rm x'",
  "sudo env nohup setsid rm x",
  "sh -c 'ls; rm x'",
  'bash -o pipefail -ec "ls && rm x"',
  "sh -c \"sh -c 'rm x'\"",
  "sh <<E\nrm x\nE",
  "bash <<< 'rm x'",
  "eval rm x",
  "eval 'rm' \"x\"",
  "trap 'rm x' EXIT",
  "su - a -c 'rm x'",
  "ssh -p 22 host 'cd d; rm x'",
  "flock f rm x",
  "flock f -c 'rm x'",
  "watch -n 1 rm x",
  "time -o f rm x",
  "time rm x",
  "exec rm x",
  "builtin command rm x",
  "busybox rm x",
  "chroot d rm x",
  "doas rm x",
  "docker run --rm -it img rm x",
  "docker exec -w d c rm x",
  "npx --yes rm x",
  "git rebase -x 'rm x' main",
  "git submodule foreach 'rm x'",
  "git -C d bisect run rm x",
  "fd -e ts -x rm",
  "strace -f rm x",
  "coproc rm x",
  "alias ls='rm x'; rm x",
  "sudo --unheard-of rm x",
  "sudo --unheard-of value rm x",
  "sudo $X rm x",
  "bash +x -c 'rm x'",
  "env -S rm x",
  "env -iS'A=b rm' x",
  "parallel ::: ls 'rm x'",
  "parallel rm ::: x",
  "npx -c 'rm x'",
  "npm exec -c 'rm x'",
  "hyperfine ls 'rm x'",
  "concurrently ls 'rm x'",
  "nix-shell --run 'rm x'",
  "entr -s 'rm x'",
  "docker compose -f a exec svc rm x",
  "docker container run img rm x",
  "docker run --entrypoint rm img x",
  "kubectl run p --image=i -- rm x",
  "ip netns exec n rm x",
  "conda run -n e rm x",
  "uv tool run rm x",
  "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
  "git -c alias.x='!rm x' x",
  "git -C d -c core.pager='rm x' log",
  "ssh -o ProxyCommand='rm x' h",
  "ssh -oProxyCommand='rm x' h",
  "rsync -e 'rm x' a b",
  "tar --checkpoint=1 --checkpoint-action=exec='rm x' -cf a b",
  "tar -I 'rm x' -xf a",
  "mapfile -C 'rm x' -c 1 < f",
  "jobs -x rm x",
  "su --session-command 'rm x' a",
  "script out rm x",
])("AZ17: a deny entry for rm looks into %j", (command) => {
  expect(verdictOf(command, [...allow("ls", "find"), ...deny("rm")])).toBe("deny");
});

test.each(["git -c alias.x=push x", "env -S git push", "env -S 'git -C d' push", "git -ca=b -C d push"])(
  "AZ17: a deny entry for git push looks into %j",
  (command) => {
    expect(verdictOf(command, deny("git push"))).toBe("deny");
  },
);

test.each([
  "sudo echo rm",
  "xargs grep rm",
  "env printf rm x",
  "sh -c 'echo rm'",
  "timeout 5 ls rm",
  "find rm -name rm",
  "git switch -c rm",
  "rsync -a rm x",
  "docker ps rm",
  "concurrently 'echo rm'",
])("AZ17: a deny entry for rm leaves %j alone, where it is only said", (command) => {
  expect(verdictOf(command, deny("rm"))).toBe("ask");
});

describe("names that hide", () => {
  test.each([
    "g\u0456t status",
    "git\u00a0status",
    "git status\r",
    "git\r status",
    "git\u200b status",
    "git st\u0430tus",
    "git status\u3000x",
    "git status 'a\u202eb'",
    "git status \u2066",
    "gi\u0301t status",
    "git status \u0456x",
    "git commit -m 'p\u0430ypal'",
    "\u0261it status",
    "git status $'x'",
    'git $"status"',
  ])("%j asks", (command) => {
    expect(verdictOf(command, allow("git status", "git commit", command))).toBe("ask");
  });
});

test("what runs or changes other things is in one list at least", () => {
  for (const name of ["env", "sudo", "xargs", "timeout", "nice", "ssh", "busybox"]) expect(isWrapper(name)).toBe(true);
  for (const name of ["export", "read", "trap", "alias", "shopt"]) expect(isStateBuiltin(name)).toBe(true);
  for (const name of ["constructor", "__proto__", "toString", ""])
    expect([isWrapper(name), isInterpreter(name), isStateBuiltin(name)]).toEqual([false, false, false]);
  expect(verdictOf("constructor x", allow("constructor"))).toBe("ask");
});

test.each([
  ["p", true],
  ["1,5p", true],
  ["$!N;P;D", true],
  ["/a/,+2{s/x/y/;d}", true],
  ["s/[/]/x/", false],
  ["s/[/]/;/w f/p", false],
  ["s/a/b/w f", false],
  ["s/a/b/e", false],
  ["s/a/b/;w f", false],
  ["r f", false],
  ["e id", false],
  ["1!e", false],
  ["/a/w f", false],
  ["s\na\nb\nw f", false],
  ["y/a/b/", false],
  ["", true],
  ["s/a\\/b/c/2gI", true],
  ["s/a/b\\\nw f/", false],
  ["p # x\nw f", false],
])("the sed script %j is harmless: %s", (script, isHarmless) => {
  expect(isHarmlessSedScript(script)).toBe(isHarmless);
});

test("no script that is taken for harmless writes a file or runs a program in the real sed", () => {
  const pieces = [
    "p",
    "d",
    "s/w/e/",
    "s/[/]/",
    "w f",
    "/w f",
    "e id>f",
    ";",
    "\n",
    "{",
    "}",
    "1",
    "/a/",
    ",",
    "!",
    "g",
    "[",
    "]",
    "\\",
    "#",
    "I",
    "M",
    "a f",
  ];
  const scripts = pieces.flatMap((a) => pieces.flatMap((b) => pieces.flatMap((c) => [a + b + c])));
  const taken = scripts.filter((script) => isHarmlessSedScript(script));
  expect(taken.length).toBeGreaterThan(50);
  const { stderr } = spawnSync("/bin/bash", ["-c", 'for s; do echo a/a | sed --sandbox "$s"; done', "x", ...taken], {
    encoding: "utf8",
  });
  expect(stderr.split("\n").filter((line) => line.includes("sandbox"))).toEqual([]);
});
