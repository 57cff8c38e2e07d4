import { describe, expect, test } from "vitest";
import { checkRules, type KnownTools } from "./check-rules.ts";
import { decide } from "./decide.ts";
import type { LayerName, Rule } from "./rule.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";

const known: KnownTools = {
  tools: [
    { name: "demo", aliases: ["former"], family: "file" },
    { name: "os.exec", family: "shell" },
    { name: "mcp__x_y", server: "x_y" },
    { name: "mail.send" },
    { name: "mcp__lazy", server: "lazy" },
  ],
};

const demo = { kind: "tool", name: "demo" };

function problemsOf(source: unknown, layer: LayerName = "workspace"): string[] {
  const checked = checkRules(source, known, layer);
  return checked.kind === "refused" ? checked.problems.map(({ path, problem }) => `${path}: ${problem}`) : [];
}

describe("checkRules", () => {
  test("of many names that are known it lists the first, and says how many more there are", () => {
    const tools = Array.from({ length: 23 }, (_, at) => ({ name: `demo.${String(at).padStart(2, "0")}` }));
    const checked = checkRules([{ target: { kind: "tool", name: "nosuch" }, mode: "ask" }], { tools }, "workspace");
    expect(JSON.stringify(checked)).toMatch(/known: demo\.00, .*demo\.19 and 3 more/);
  });

  test("reads a list in which everything is in order", () => {
    const checked = checkRules(
      [
        { target: demo, mode: "deny", entries: [{ kind: "argument", name: "action", value: "exec" }] },
        { target: { kind: "server", name: "lazy" }, mode: "ask", locked: true },
        { target: { kind: "family", name: "mcp" }, mode: "off", expiresAt: "2030-01-01T00:00:00Z" },
        { target: { kind: "everything" }, mode: "allow" },
      ],
      known,
      "workspace",
    );
    expect(checked).toEqual({
      kind: "rules",
      rules: [
        { target: demo, mode: "deny", entries: [{ kind: "argument", name: "action", value: "exec" }] },
        { target: { kind: "server", name: "lazy" }, mode: "ask", locked: true },
        { target: { kind: "family", name: "mcp" }, mode: "off", expiresAt: new Date("2030-01-01T00:00:00Z") },
        { target: { kind: "everything" }, mode: "allow" },
      ],
    });
    expect(checkRules([], known, "run")).toEqual({ kind: "rules", rules: [] });
  });

  test("AZ20: one bad line refuses all of them, and every bad line is named", () => {
    const source = [
      { target: demo, mode: "allow" },
      { target: { kind: "tool", name: "nosuch" }, mode: "allow" },
      { target: { kind: "everything" }, mode: "allowlist", entries: [{ kind: "pattern", pattern: "(a" }] },
    ];
    expect(problemsOf(source)).toEqual([
      expect.stringMatching(/^\[1\]\.target\.name: there is no tool "nosuch"; known: demo, mail\.send/),
      expect.stringMatching(/^\[2\]\.entries\[0\]\.pattern: .*missing closing/),
    ]);
  });

  test.each([
    ["no list", {}, /^: /],
    ["another mode", [{ target: demo, mode: "permit" }], /^\[0\]\.mode: /],
    ["an unknown key", [{ target: demo, mode: "deny", match: "x" }], /^\[0\]\.match: Unrecognized key/],
    ["an unknown key of the target", [{ target: { ...demo, tool: "x" }, mode: "deny" }], /^\[0\]\.target\.tool: /],
    [
      "a key of another kind of entry",
      [{ target: demo, mode: "deny", entries: [{ kind: "unit", command: "x" }] }],
      /entries\[0\]/,
    ],
    ["no entries in the list", [{ target: demo, mode: "allowlist", entries: [] }], /^\[0\]\.entries: /],
    ["an allowlist of nothing", [{ target: demo, mode: "allowlist" }], /^\[0\]\.entries: an allowlist needs entries/],
    [
      "off for some",
      [{ target: demo, mode: "off", entries: [{ kind: "unit", unit: "a" }] }],
      /^\[0\]\.entries: a tool is off/,
    ],
    ["a date that is none", [{ target: demo, mode: "deny", expiresAt: "tomorrow" }], /^\[0\]\.expiresAt: /],
    [
      "an unknown family",
      [{ target: { kind: "family", name: "files" }, mode: "ask" }],
      /there is no family "files"; known: file/,
    ],
    [
      "an unknown server",
      [{ target: { kind: "server", name: "z" }, mode: "ask" }],
      /there is no server "z"; known: lazy, x_y/,
    ],
    [
      "two for a target",
      [
        { target: demo, mode: "ask" },
        { target: demo, mode: "deny" },
      ],
      /^\[1\]\.target: rule 1 speaks/,
    ],
  ])("refuses %s", (_what, source, problem) => {
    expect(problemsOf(source).join("\n")).toMatch(problem);
  });

  test.each(["run", "definition"] as const)("a rule of the %s cannot be locked", (layer) => {
    expect(problemsOf([{ target: demo, mode: "ask", locked: true }], layer)).toEqual([
      `[0].locked: a rule of the ${layer} cannot be locked; only workspace and app can`,
    ]);
  });
});

describe("names", () => {
  test.each(["mcp__x__y", "mcp_x_y", "MCP__X_Y", "mcp.x.y", "mcp__x_y "])(
    "AZ24: a deny for %j, which the tool is not called, is refused and names the one that was meant",
    (name) => {
      const [problem] = problemsOf([{ target: { kind: "tool", name }, mode: "deny" }]);
      expect(problem).toContain(JSON.stringify(name));
      expect(problem).toContain('did you mean "mcp__x_y"?');
    },
  );

  test.each(["deny", "ask", "off"] as const)("AZ25: %s may be written under a former name", (mode) => {
    expect(problemsOf([{ target: { kind: "tool", name: "former" }, mode }])).toEqual([]);
  });

  test.each(["allow", "allowlist"] as const)("AZ25: %s may not, and names the new one", (mode) => {
    const entries = mode === "allow" ? {} : { entries: [{ kind: "unit", unit: "a" }] };
    const [problem] = problemsOf([{ target: { kind: "tool", name: "former" }, mode, ...entries }]);
    expect(problem).toBe('[0].target.name: "former" is called "demo" now; a former name allows nothing');
  });

  test.each(["constructor", "__proto__", "toString"])("AZ26: %s is no tool, server or family", (name) => {
    for (const kind of ["tool", "server", "family"]) {
      expect(problemsOf([{ target: { kind, name }, mode: "deny" }])).toHaveLength(1);
    }
  });
});

describe("commands that are to be denied or asked for", () => {
  const written = (mode: string, command: string) =>
    problemsOf([{ target: { kind: "tool", name: "os.exec" }, mode, entries: [{ kind: "command", command }] }]);

  test.each(["rm", "rm -rf", "sudo", "eval", "git push --force", "/bin/rm", "docker run", "> f", "git -c", "rm -rf *"])(
    "%j is taken",
    (command) => {
      for (const mode of ["deny", "ask"]) expect(written(mode, command)).toEqual([]);
    },
  );

  test.each(["'rm'", "rm;", "git push &&", "A=b", "rm (", "\\rm", "# rm", "if"])(
    "AZ24: %j is refused, since no command would ever meet it",
    (command) => {
      for (const mode of ["deny", "ask"]) expect(written(mode, command).join()).toContain("is never met");
    },
  );
});

describe("AZ11", () => {
  const shell = { kind: "tool", name: "os.exec" };
  const allowing = (command: string, mode = "allowlist") =>
    problemsOf([{ target: shell, mode, entries: [{ kind: "command", command }] }]);

  test.each([
    "eval",
    "bash",
    "sh",
    "python3",
    "node",
    "source",
    "env",
    "sudo",
    "xargs",
    "export",
    "bash s.sh",
    "./ls",
    "git -c a=b log",
    "sed -i x f",
    "$X",
    "l*",
  ])("an entry that allows %j is refused: nothing could ever vouch for it", (command) => {
    expect(allowing(command).join()).toMatch(/can never be allowed by name/);
    expect(allowing(command, "allow")).toHaveLength(1);
  });

  test.each(["git status", "ls", "npm test", "/usr/bin/ls", "rmdir", "make all"])(
    "an entry that allows %j is taken",
    (command) => {
      expect(allowing(command)).toEqual([]);
    },
  );

  test.each([
    ["git status --short", "git status"],
    ["echo hello", "echo"],
  ])("an entry that allows %j is refused, since such a command goes by %j", (command, key) => {
    expect(allowing(command).join()).toContain(`goes by "${key}"`);
  });

  test.each(["git status && ls", "ls > x", "ls; rm", "# x", "git status &&", "git  status", " ls"])(
    "an entry that allows %j is refused: it is not one plain command",
    (command) => {
      expect(allowing(command)).toHaveLength(1);
    },
  );

  test("an entry longer than what is kept of a command is refused: it would match nothing", () => {
    const command = Array.from({ length: 61 }, () => "a").join(" ");
    const source = [{ target: shell, mode: "deny", entries: [{ kind: "command", command }] }];
    expect(problemsOf(source).join()).toMatch(/61 words/);
  });

  test.each(["bash", "sudo", "eval", "rm -rf", "git push --force"])("an entry that denies %j is taken", (command) => {
    const source = [{ target: shell, mode: "deny", entries: [{ kind: "command", command }] }];
    expect(problemsOf(source)).toEqual([]);
    expect(problemsOf([{ ...source[0], mode: "ask" }])).toEqual([]);
  });

  test.each(["allow", "allowlist"])("an argument is no reason to %s", (mode) => {
    const entries = [{ kind: "argument", name: "action", value: "list" }];
    expect(problemsOf([{ target: demo, mode, entries }]).join()).toMatch(/entries\[0\]\.name: an entry that allows/);
  });

  test.each([
    ["a\u200bb", /cannot see/],
    ["gіt", /take for another/],
    ["a\u0007b", /control character/],
  ])("an entry that people cannot read (%j) is refused", (unit, problem) => {
    expect(problemsOf([{ target: demo, mode: "deny", entries: [{ kind: "unit", unit }] }]).join()).toMatch(problem);
  });
});

test.each([
  { kind: "unit", unit: "a\0" },
  { kind: "command", command: "a\0" },
  { kind: "pattern", pattern: "a\ud800*" },
  { kind: "argument", name: "a\0", value: "b" },
  { kind: "argument", name: "a", value: "b\0" },
  { kind: "argument", name: "a\ud800", value: "b" },
  { kind: "argument", name: "a", value: "\udc00b" },
])("an entry that cannot be stored (%j) is refused", (entry) => {
  expect(problemsOf([{ target: demo, mode: "deny", entries: [entry] }]).join()).toMatch(
    /entries\[0\]\.\w+: holds (?:a NUL character|half of a surrogate pair)/,
  );
});

test("what was checked is what the gate reads", () => {
  const checked = checkRules(
    [{ target: demo, mode: "allowlist", entries: [{ kind: "unit", unit: "a" }] }],
    known,
    "run",
  );
  const rules: Rule[] = checked.kind === "rules" ? checked.rules.map((rule) => ({ ...rule, id: "r" })) : [];
  const policy = makePolicy({ layers: { run: { rules } } });
  expect(decide(makeCall({ units: () => ["a"] }), policy, now).row).toBe("17");
  expect(decide(makeCall({ units: () => ["b"] }), policy, now).row).toBe("18");
});
