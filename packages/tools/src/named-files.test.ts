import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findNamedFiles, type NamedFiles } from "./named-files.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-named-files-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text = "harmless\n"): void => writeFileSync(join(folder, name), text);
for (const name of ["lib", "sub", "sub/deep", "bin"]) mkdirSync(join(folder, name));
for (const name of ["s.sh", "data.csv", "my script.sh", "sub/s.sh", "sub/deep/d.sh", "bin/tool"]) write(name);

/** The names of what a command is bound to, within the folder. */
async function boundBy(command: string): Promise<readonly string[]> {
  return namesOf(await findNamedFiles(command, folder));
}

const namesOf = ({ files }: NamedFiles): readonly string[] => files.map(({ name }) => relative(folder, name));

describe("AZ61: the script is bound by", () => {
  test.each(
    [
      ["sh s.sh", "sh -e s.sh", "sh -x -e s.sh", "bash -euo pipefail s.sh", "bash -o pipefail s.sh", "bash +x s.sh"],
      [
        "bash --posix s.sh",
        "bash -- s.sh",
        "bash $(echo) s.sh",
        "zsh s.sh",
        "busybox sh s.sh",
        "tclsh s.sh",
        "lua s.sh",
      ],
      ["python -W ignore s.sh", "python3 -X dev s.sh", "python3.12 -m pdb s.sh", "perl -I lib s.sh", "perl -e 0 s.sh"],
      ["ruby -I lib s.sh", "ruby -rs.sh x.rb", "php -d a=b s.sh", "php -d auto_prepend_file=s.sh x.php", "expect s.sh"],
      [
        "node --max-old-space-size 100 s.sh",
        "node --require ./s.sh x.js",
        "node --import=./s.sh x.js",
        "node -r ./s.sh",
      ],
      ["deno run -A s.sh", "bun run s.sh", "bun s.sh", "tsx s.sh", "npx tsx s.sh", "ts-node s.sh", "uv run s.sh"],
      [
        "go run s.sh",
        "java -jar s.sh",
        "java -cp lib:s.sh Main",
        "make -f s.sh",
        "make -fs.sh",
        "make -C sub -f ../s.sh",
      ],
      ["awk -f s.sh x", "sed -f s.sh x", "sed -nfs.sh x", "psql -f s.sh", "sqlite3 db '.read s.sh'", "vim -S s.sh"],
      ["sqlite3 db < s.sh", "sh < s.sh", "sh 0<s.sh", "sh <> s.sh", "sh < 's'.sh", "ssh h < s.sh", "python - < s.sh"],
      [
        "cat s.sh | sh",
        "cat s.sh | sudo -u x bash",
        "cat < s.sh | sh",
        "tac s.sh | python3",
        "tee /dev/null < s.sh | sh",
      ],
      [
        "bash <(cat s.sh)",
        "source <(cat s.sh)",
        'eval "$(cat s.sh)"',
        "eval $(<s.sh)",
        "eval `cat s.sh`",
        'sh -c "$(<s.sh)"',
      ],
      [". ./s.sh", "source s.sh", "./s.sh a b", "true && ./s.sh", "nohup bash s.sh &", "sudo -u x nice bash s.sh"],
      ["env -i sh s.sh", "env -S 'sh s.sh'", "timeout 5 sh s.sh", "xargs sh s.sh", "find . -exec sh s.sh {} \\;"],
      [
        "bash -c 'sh s.sh'",
        "bash -c '. s.sh'",
        "sh -c './s.sh'",
        "sh -c 'sh -c \"sh s.sh\"'",
        "git bisect run sh s.sh",
      ],
      ["BASH_ENV=s.sh bash -c true", "export BASH_ENV=./s.sh; bash -c true", "LD_PRELOAD=./s.sh ls", "env A=s.sh sh x"],
      [
        "for f in s.sh; do sh $f; done",
        "f=s.sh; sh $f",
        "f() { ./s.sh; }; f",
        "alias ll=./s.sh; ll",
        "PATH=. s.sh",
        "for f in 's'.sh; do sh $f; done",
        "BASH_ENV='s'.s\\h bash -c true",
      ],
      ["sh <<'X'\nsh s.sh\nX", "python3 - <<'X'\nexec(open('s.sh').read())\nX", "psql <<< '\\i s.sh'"],
      [
        "python3 -c \"exec(open('s.sh').read())\"",
        "node -e 'require(`./s.sh`)'",
        "perl -e 'do \"./s.sh\"'",
        "vim +':!./s.sh'",
      ],
      ["crontab s.sh", "at -f s.sh now", "pwsh -File s.sh", "osascript s.sh", "Rscript s.sh", "ansible-playbook s.sh"],
      [
        "$SHELL s.sh",
        "s\\h 's'.sh",
        "sh s\\.sh",
        "if true; then sh s.sh; fi",
        "x=$(sh s.sh)",
        "unheard-of --file=s.sh",
      ],
      [
        "git -c core.pager=./s.sh log",
        "git -c alias.x='!./s.sh' x",
        "docker run -v ./s.sh:/s.sh image",
        "curl -d @s.sh host",
      ],
      [`sh ${folder}/s.sh`, `cd / && sh ${folder}/s.sh`, `sh file://${folder}/s.sh`, "sh ((s.sh", "sh 's.sh"],
    ].flat(),
  )("%s", async (command) => {
    expect(await boundBy(command)).toContain("s.sh");
  });

  test.each([
    ["cd sub && sh s.sh", ["s.sh", "sub/s.sh"]],
    ["cd sub; cd deep; sh d.sh", ["sub/deep/d.sh"]],
    ["cd sub/deep && sh ../s.sh", ["sub/s.sh"]],
    ["env -C sub/deep sh d.sh", ["sub/deep/d.sh"]],
    ["make --directory=sub -f s.sh", ["s.sh", "sub/s.sh"]],
    ["PATH=bin:lib tool", ["bin/tool"]],
    ["sh 'my script.sh'", ["my script.sh"]],
    ["python3 -c \"exec(open('my script.sh').read())\"", ["my script.sh"]],
    ["python3 s.sh data.csv", ["data.csv", "s.sh"]],
  ])("all it may be: %s", async (command, names) => {
    expect([...(await boundBy(command))].toSorted()).toEqual(names);
  });
});

test.each([
  ["cat s.sh"],
  ["cat < s.sh | grep x | sort"],
  ["cd sub && tail s.sh"],
  ["git add s.sh && git diff s.sh"],
  ["echo hello"],
  ["/usr/bin/env true"],
  ["env /usr/bin/python3 --version"],
  ["sh -c 'echo hi'"],
  ["python3 -c 'print(1)'"],
  ["sh late.sh"],
  ["sh lib"],
  ["sh < /dev/null"],
  ["sh x /proc/self/status /proc/uptime"],
])("nothing is bound by %s", async (command) => {
  expect(await boundBy(command)).toEqual([]);
});

test("without a folder to run in, names are of the fresh one: only what leads out of it is there", async () => {
  const inFresh = async (command: string) => namesOf(await findNamedFiles(command, undefined));
  expect(await inFresh(`sh s.sh; sh ${folder}/sub/s.sh`)).toEqual(["sub/s.sh"]);
  expect(await inFresh(`sh ../${basename(folder)}/s.sh`)).toEqual(["s.sh"]);
});

test("a link is bound by what it leads to", async () => {
  symlinkSync("s.sh", join(folder, "link"));
  const [linked, own] = [await findNamedFiles("sh link", folder), await findNamedFiles("sh s.sh", folder)];
  expect(linked.files[0]?.hash).toBe(own.files[0]?.hash);
});

test("a pipe is not waited for, and an empty file is one", async () => {
  execFileSync("/bin/sh", ["-c", "mkfifo pipe"], { cwd: folder });
  write("empty", "");
  expect(await boundBy("sh pipe empty")).toEqual(["empty"]);
});

test("a file too large to be hashed is bound by what every write moves, also where its time is put back", async () => {
  write("large", "");
  truncateSync(join(folder, "large"), 65 * 1024 * 1024);
  const before = await findNamedFiles("sh large s.sh", folder);
  expect(before.files.map(({ hash }) => hash)).toEqual([
    expect.stringMatching(/^68157440 bytes, inode \d+, changed \d+$/),
    expect.stringMatching(/^[0-9a-f]{64}$/),
  ]);
  expect(before.message).toContain("told apart by size and time of change");
  expect(await findNamedFiles("sh large s.sh", folder)).toEqual(before);
  utimesSync(join(folder, "large"), 1, 1);
  expect((await findNamedFiles("sh large s.sh", folder)).files[0]?.hash).not.toBe(before.files[0]?.hash);
});

test("the card says what is bound, what is not since only the shell can tell it, and nothing where nothing runs", async () => {
  expect(await findNamedFiles("ls $X", folder)).toEqual({ files: [], message: "" });
  expect((await findNamedFiles('sh s.sh; sh "$X"/a *.sh ~/b', folder)).message).toBe(
    'It names the files below and may run any of them. The approval holds for what they are now: where one has changed, or another that it names has come, it asks again. Not bound, since only the shell can tell what it names: "$X"/a  *.sh  ~/b.',
  );
});

test("more files than are bound are said to be more", async () => {
  const names = Array.from({ length: 101 }, (_, index) => `many-${index}`);
  for (const name of names) write(name);
  const { files, message } = await findNamedFiles(`sh ${names.join(" ")}`, folder);
  expect(files).toHaveLength(100);
  expect(message).toContain("It names more than was looked at");
  expect((await findNamedFiles("sh s.sh", folder)).message).not.toContain("more than was looked at");
});

test("a command that names more than anybody looks at, in folder after folder, is said to", async () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `a${index}`);
  const { files, message } = await findNamedFiles(
    `cd lib; cd sub; cd deep; cd ../bin; sh s.sh ${names.join(" ")}`,
    folder,
  );
  expect(files.map(({ name }) => relative(folder, name))).toContain("s.sh");
  expect(message).toContain("It names more than was looked at");
});
