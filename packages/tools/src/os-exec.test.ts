import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OutsideContext, ToolOf, ToolResult } from "@countersign/engine/tool.ts";
import { afterAll, describe, expect, test } from "vitest";
import { commandEnvironment } from "./exec-environment.ts";
import { canSwitchUser, endLeftCommands } from "./exec-user.ts";
import { chooseOsExec, osExec, type OsExecOptions } from "./os-exec.ts";
import { runsWith, until } from "./testing/processes.ts";

type Arguments = { command: string; cwd?: string };
type Outside = Extract<ToolOf<Arguments>, { effect: "once" | "idempotent" }>;

const folder = mkdtempSync(join(tmpdir(), "countersign-exec-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The ways a command can run here: as a user of its own only where this process is root. */
const users: readonly OsExecOptions["user"][] = canSwitchUser() ? ["own", "same"] : ["same"];

const environment = { PATH: process.env["PATH"], HOME: "/nowhere" };

function run(
  args: Arguments,
  options: Partial<OsExecOptions> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<ToolResult> {
  const tool = osExec({ user: "same", environment, ...options }) as unknown as Outside;
  return tool.execute(tool.schema.parse(args), {
    signal,
    preconditions: [] as OutsideContext["preconditions"],
  } as OutsideContext);
}

let counter = 0;
/** An argument that tells one test's processes from all others. */
function mark(): string {
  counter += 1;
  return `88${process.pid}.${counter}`;
}

describe.each(users)("a command, run as %s user", (user) => {
  test("gives its exit code and what it said on both streams", async () => {
    expect(await run({ command: "echo out; echo err >&2; exit 3" }, { user })).toEqual({
      kind: "done",
      content: expect.stringMatching(/^exit code 3\n(?:out\nerr|err\nout)\n$/),
    });
    expect(await run({ command: "kill -TERM $$" }, { user })).toEqual({ kind: "done", content: "ended by SIGTERM" });
    expect(await run({ command: "true" }, { user })).toEqual({ kind: "done", content: "exit code 0" });
  });

  test("runs in a fresh folder that is gone afterwards, or where it is told to", async () => {
    const fresh = await run({ command: "pwd; touch here && ls; echo $HOME" }, { user });
    const [, path = "", file, home] = fresh.content.split("\n");
    expect({ file, home }).toEqual({ file: "here", home: path });
    expect(existsSync(path)).toBe(false);
    expect((await run({ command: "pwd", cwd: "/usr" }, { user })).content).toBe("exit code 0\n/usr\n");
    expect(await run({ command: "pwd", cwd: "/no/such/place" }, { user })).toEqual({
      kind: "failed",
      content: "not run: /no/such/place is not a folder",
    });
  });

  test("has no input to wait for", async () => {
    expect((await run({ command: "cat; echo read" }, { user })).content).toBe("exit code 0\nread\n");
  });

  test("is shown up to 8 KB, in bytes, and what is cut is said", async () => {
    const { content } = await run({ command: "yes é | head -c 20000" }, { user });
    const [, ...lines] = content.split("\n");
    expect(lines.at(-1)).toBe("[cut: the first 8192 of 20000 bytes]");
    expect(content).not.toContain("\ufffd");
    const shown = Buffer.byteLength(lines.slice(0, -1).join("\n"));
    expect(shown).toBeGreaterThan(8_180);
    expect(shown).toBeLessThanOrEqual(8_192);
  });

  test("ends at its time limit, with what it had said until then and everything it started", async () => {
    const it = mark();
    const result = await run({ command: `echo begun; sleep ${it} & sleep ${it}` }, { user, timeoutMs: 400 });
    expect(result).toEqual({ kind: "failed", code: "timeout", content: "stopped after 0.4 s, in the middle\nbegun\n" });
    expect(runsWith(it)).toEqual([]);
  });

  test("ends when the call is stopped, and then nobody knows how far it came", async () => {
    const it = mark();
    const stop = new AbortController();
    const running = run({ command: `echo begun; sleep ${it}` }, { user }, stop.signal);
    await until(() => runsWith(`sleep\0${it}`).length > 0);
    stop.abort();
    expect(await running).toEqual({ kind: "unknown", content: "stopped in the middle\nbegun\n" });
    expect(runsWith(it)).toEqual([]);
  });

  test.each([
    ["that stays in the background", (it: string) => `sleep ${it} & exit 0`],
    ["that ignores signals", (it: string) => `(trap '' HUP TERM INT; sleep ${it}) & exit 0`],
    ["in a session of its own", (it: string) => `setsid sleep ${it} & exit 0`],
    [
      "that left its group, its session and its parent",
      (it: string) => `setsid sh -c '(setsid sleep ${it} &)' & sleep 0.2; exit 0`,
    ],
    ["that holds the output open", (it: string) => `(sleep ${it}; echo late) & exit 0`],
  ])("leaves no process behind %s", async (_what, command) => {
    const it = mark();
    const beganAt = performance.now();
    const result = await run({ command: command(it) }, { user });
    expect(result).toEqual({ kind: "done", content: "exit code 0" });
    expect(performance.now() - beganAt).toBeLessThan(5_000);
    expect(runsWith(it)).toEqual([]);
  });

  test("leaves no process behind that cleared its environment and left everything, if it lived long enough to be seen", async () => {
    const it = mark();
    const command = `env -i setsid /bin/sh -c '/bin/sleep ${it} & wait' & sleep 0.4; exit 0`;
    expect((await run({ command }, { user })).content).toBe("exit code 0");
    expect(runsWith(it)).toEqual([]);
  });

  test("cannot fill the worker's memory", async () => {
    const before = process.memoryUsage().rss;
    const result = await run({ command: "head -c 400000000 /dev/zero" }, { user, timeoutMs: 60_000 });
    expect(result).toMatchObject({ kind: "done", content: expect.stringContaining("of 400000000 bytes") });
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });
});

describe.runIf(canSwitchUser())("a user of its own", () => {
  test("is not the worker's, has no other groups, and no two commands share one", async () => {
    const ids = await Promise.all([1, 2, 3].map(() => run({ command: "id -u; id -G; sleep 0.3" }, { user: "own" })));
    const lines = ids.map(({ content }) => content.split("\n").slice(1, 3));
    for (const [uid, groups] of lines) {
      expect(Number(uid)).toBeGreaterThanOrEqual(70_000);
      expect(groups).toBe(uid);
    }
    expect(new Set(lines.map(([uid]) => uid)).size).toBe(3);
  });

  test("cannot look into the worker: its environment, its memory, its files, its folders", async () => {
    const secret = join(folder, "secret");
    const { content } = await run(
      {
        command: `for at in environ mem maps cwd/ fd/ root/; do ls /proc/${process.pid}/$at >/dev/null && cat /proc/${process.pid}/$at && echo READ; done; cat ${secret}; kill -0 ${process.pid} && echo SIGNALED`,
      },
      { user: "own" },
    );
    expect(content).not.toMatch(/^READ|^SIGNALED/m);
    expect(content).toContain("Permission denied");
  });

  test("what a dead worker left running is ended by the next that starts, and what a live one runs is not", async () => {
    const orphan = mark();
    const kept = mark();
    // A user whose name nobody holds, as when the worker that held it was killed.
    const left = spawn("/bin/sleep", [orphan], { uid: 70_063, gid: 70_063, detached: true, stdio: "ignore" });
    await once(left, "spawn");
    const stop = new AbortController();
    const running = run({ command: `sleep ${kept}` }, { user: "own", timeoutMs: 60_000 }, stop.signal);
    await until(() => runsWith(`sleep\0${kept}`).length > 0);
    expect(await endLeftCommands("own")).toBe(0);
    expect(runsWith(orphan)).toEqual([]);
    expect(runsWith(`sleep\0${kept}`)).toHaveLength(1);
    stop.abort();
    await running;
  });
});

test("as the worker's own user, what a dead worker left running is found by its mark", async () => {
  const it = mark();
  const dead = spawn("/bin/true");
  await once(dead, "exit");
  const left = spawn("/bin/sleep", [it], {
    env: { COUNTERSIGN_COMMAND: `${dead.pid}.x` },
    detached: true,
    stdio: "ignore",
  });
  await once(left, "spawn");
  await endLeftCommands("same");
  await until(() => runsWith(it).length === 0);
});

describe("the environment of a command", () => {
  const secrets = {
    ANTHROPIC_API_KEY: "s",
    my_api: "s",
    GITHUB_TOKEN: "s",
    Db_Password: "s",
    CLIENT_SECRET: "s",
    AWS_CREDENTIALS: "s",
    AUTHORIZATION: "s",
    SSH_AUTH_SOCK: "s",
    ssh_agent_pid: "s",
    SSH_HOME: "s",
    SMTP_PASS: "s",
    DATABASE_URL: "postgres://user:s@host/db",
    HTTP_PROXY: "http://who:s@proxy:3128",
  };

  test("holds nothing that sounds like a secret, belongs to a connector, or is an address with a login", () => {
    expect(commandEnvironment({ ...secrets, PATH: "/bin", LANG: "C", EMPTY: undefined })).toEqual({
      PATH: "/bin",
      LANG: "C",
    });
  });

  test("can be given back names that exist, but none of SSH_, and none that do not exist", () => {
    const allowed = ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "SSH_HOME", "ssh_agent_pid", "INVENTED", "DATABASE_URL"];
    expect(commandEnvironment(secrets, allowed)).toEqual({ GITHUB_TOKEN: "s", DATABASE_URL: secrets.DATABASE_URL });
  });

  test("is what the command sees, in its own variables and in /proc", async () => {
    const { content } = await run(
      { command: "env; tr '\\0' '\\n' < /proc/self/environ" },
      { environment: { ...environment, ...secrets, LANG: "C" } },
    );
    expect(content).toContain("LANG=C");
    for (const name of Object.keys(secrets)) expect(content).not.toContain(name);
  });
});

describe("whether it is offered", () => {
  test.each<[Parameters<typeof chooseOsExec>, object]>([
    [[undefined, false, true], { kind: "off" }],
    [["0", true, true], { kind: "off" }],
    [[undefined, true, true], { kind: "on", user: "own" }],
    [[undefined, true, false], { kind: "off" }],
    [["1", false, true], { kind: "on", user: "own" }],
    [["1", false, false], { kind: "refused" }],
    [["same-user", false, false], { kind: "on", user: "same" }],
  ])("%j gives %j", (given, choice) => {
    expect(chooseOsExec(...given)).toMatchObject(choice);
  });
});

test("the schema takes one command of at most 8 KB and an absolute folder", () => {
  const { schema } = osExec({ user: "same", environment });
  expect(schema.safeParse({ command: "ls", cwd: "/tmp" }).success).toBe(true);
  for (const args of [
    { command: "" },
    { command: "x".repeat(8_193) },
    { command: "a\0b" },
    { command: "ls # \u0007" },
    { command: "\ud800" },
    { command: "é".repeat(4_097) },
    { command: "ls", cwd: "tmp" },
    { command: "ls", timeout: 1 },
  ])
    expect(schema.safeParse(args).success).toBe(false);
});

test("the card shows the whole command, where it runs and as whom", () => {
  const tool = osExec({ user: "own", environment }) as unknown as Outside;
  expect(tool.details?.({ command: "rm -rf x\nls" })).toEqual([
    "Command: rm -rf x\nls",
    "Folder: a fresh one, removed afterwards",
    "User: one of its own",
    "Limits: 15 s, 8 KB of output",
  ]);
  expect(tool).toMatchObject({ alwaysGate: true, needsApproval: true, effect: "once", tier: "exec" });
});

describe("what the gate reads of a command", () => {
  const unitsOf = (args: Arguments, options: Partial<OsExecOptions> = {}): readonly unknown[] => {
    const tool = osExec({ user: "same", environment, ...options }) as unknown as Outside;
    const units = tool.units?.(args) ?? [];
    return Array.isArray(units) ? units : [units];
  };

  test("is a unit for each part of it, with what the denylist says of that part", () => {
    expect(unitsOf({ command: "git status && sudo ls > f" })).toMatchObject([
      { text: "git status", key: "git status" },
      { text: "sudo ls > f", unkeyable: "wrapper", denylisted: [{ name: "sudo" }] },
      { text: "> f", key: "> f", isWrite: true },
    ]);
    expect(unitsOf({ command: "ls;".repeat(65) })).toMatchObject([{ kind: "refused" }]);
  });

  test("trusts no repository but in its root", () => {
    expect(unitsOf({ command: "git status", cwd: "/srv/a" })).toMatchObject([{ unkeyable: "untrusted_repository" }]);
    expect(unitsOf({ command: "git status", cwd: "/srv/a" }, { root: "/srv" })).toMatchObject([{ key: "git status" }]);
  });

  test("is a danger where it leads out of the root, and none without a root", () => {
    const dangerOf = (args: Arguments, options: Partial<OsExecOptions>) =>
      (osExec({ user: "same", environment, ...options }) as unknown as Outside).safety?.(args);
    expect(dangerOf({ command: "ls /tmp" }, { root: "/srv" })).toBe("outside_root");
    expect(dangerOf({ command: "ls", cwd: "/tmp" }, { root: "/srv" })).toBe("outside_root");
    expect(dangerOf({ command: "ls a" }, { root: "/srv" })).toBeUndefined();
    expect(dangerOf({ command: "ls /tmp" }, {})).toBeUndefined();
  });
});
