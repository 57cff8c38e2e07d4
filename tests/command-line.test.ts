import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signHeads } from "@countersign/broker/audit-heads.ts";
import { loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { appendHeads, auditHeadFile } from "@countersign/broker/head-file.ts";
import { sealAudit } from "@countersign/broker/seal-audit.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { appScope } from "@countersign/engine/commits/kill-scope.ts";
import { setRules } from "@countersign/engine/commits/set-rules.ts";
import { givenGatedRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { givenCommandLine } from "./support/command-line.ts";
import type { Answer } from "./support/countersign.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const { address, data, run } = await givenCommandLine(url);
let world: World;
const tokens: Record<string, string> = {};

beforeEach(async () => {
  world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: [] });
  for (const role of ["admin", "viewer"] as const) {
    const { workspaceId } = world;
    const made = await createToken(sql, { workspaceId, userId: world[role], label: role, mayDecide: true });
    tokens[role] = made.token;
  }
});

/** Runs a verb as the workspace's administrator, or as who is said. */
async function cli(args: readonly string[], { input = "", as = "admin" } = {}): Promise<Answer> {
  return await run(tokens[as] ?? "", args, input);
}

const json = <T>({ out }: Answer): T => JSON.parse(out) as T;

describe("secrets", () => {
  test("are set from standard input, in a next version under the name they have, listed without values, and deleted", async () => {
    const first = await cli(["secrets", "set", "slack.send", "--name", "mail"], { input: "the-first-value\n" });
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining("mail is set in version 1") });
    const second = await cli(["secrets", "set", "slack.send"], { input: "another-value\n" });
    expect(second).toMatchObject({ code: 0, out: expect.stringContaining("mail is set in version 2") });
    const listed = await cli(["secrets", "ls", "--json"]);
    expect(json(listed)).toMatchObject([{ name: "mail", capability: "slack.send", version: 2 }]);
    expect(listed.out).not.toContain("value");
    expect(await cli(["secrets", "rm", "mail"])).toMatchObject({ code: 0 });
    expect(json(await cli(["secrets", "ls", "--json"]))).toEqual([]);
  });

  test("refusals have their exit codes: 1 for what is not there, 2 for what cannot be, 3 for who may not", async () => {
    expect(await cli(["secrets", "rm", "nothing"])).toMatchObject({ code: 1 });
    expect(await cli(["secrets", "set", "slack.send"])).toMatchObject({ code: 2 });
    expect(await cli(["secrets", "set", "slack.send"], { input: "short" })).toMatchObject({ code: 2 });
    const unfit = await cli(["secrets", "set", "mail.send"], { input: "not a json" });
    expect(unfit).toMatchObject({ code: 2, error: expect.stringContaining("a JSON object with host, port, from") });
    const unknown = await cli(["secrets", "set", "mail.sned"], { input: "long-enough" });
    expect(unknown).toMatchObject({ code: 2, error: expect.stringContaining("Known: calendar.read") });
    expect(unknown.error).not.toContain("json.");
    const nobody = await cli(["runs", "start", "nobody", "hi"]);
    expect(nobody).toMatchObject({ code: 1, error: expect.stringContaining("./countersign defs ls lists them") });
    expect(await cli(["secrets", "ls"], { as: "viewer" })).toMatchObject({ code: 3 });
    expect(await cli(["secrets", "ls", "--nonsense"])).toMatchObject({ code: 2 });
  });

  test("lie under a new master key after a rotation, and the old key is gone", async () => {
    await cli(["secrets", "set", "slack.send"], { input: "the-first-value" });
    const rotated = json<{ keyId: string; resealed: number; retired: string[]; kept: string[] }>(
      await cli(["secrets", "rotate", "--json"]),
    );
    expect(rotated.resealed).toBeGreaterThan(0);
    expect(rotated).toMatchObject({ kept: [], unreadable: [] });
    expect(rotated.retired).toHaveLength(1);
    const keys = await sql<{ key: string }[]>`select distinct key_id as key from secret_versions`;
    expect(keys).toEqual([{ key: rotated.keyId }]);
    expect((await readdir(data)).filter((name) => name.includes("earlier"))).toEqual([]);
    expect(await cli(["secrets", "set", "slack.send"], { input: "another-value" })).toMatchObject({ code: 0 });
    expect(json(await cli(["doctor", "--json"]))).toContainEqual(
      expect.objectContaining({ about: "keys", state: "ok" }),
    );
  });
});

describe("the audit", () => {
  /** Seals what is there, and keeps the signed heads. */
  async function seal(): Promise<void> {
    const key = await loadOrMakeAuditKey(data);
    while ((await sealAudit(sql, key)).kind === "busy");
    await appendHeads(join(data, auditHeadFile), await signHeads(sql, key));
  }

  const rowsOf = async () =>
    await sql<{ id: string; seq: number }[]>`
      select c.audit_id as id, c.seq from audit_chain c where c.workspace_id = ${world.workspaceId} order by c.seq`;

  async function givenSealed(): Promise<{ id: string; seq: number }[]> {
    for (const value of ["value-one", "value-two", "value-three"])
      await cli(["secrets", "set", "slack.send"], { input: value });
    // Whatever writes on this server, in any database, holds sealing back until it has ended.
    for (;;) {
      await seal();
      const rows = await rowsOf();
      if (rows.filter(({ seq }) => seq !== null).length >= 3) return rows;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const verify = async (...more: string[]) => {
    const answer = await cli(["audit", "verify", "--json", ...more]);
    const { breaks } = json<{ breaks: { what: string; seq: number; workspaceId: string }[] }>({
      ...answer,
      out: answer.out.split("\n")[0] ?? "",
    });
    const mine = breaks.filter(({ workspaceId }) => workspaceId === world.workspaceId);
    return { code: answer.code, breaks: mine.map(({ what, seq }) => ({ what, seq })) };
  };

  test("is sound as it was sealed, also with rows that are not sealed yet", async () => {
    await givenSealed();
    await cli(["secrets", "rm", "mail.send"]);
    expect(await verify()).toEqual({ code: 0, breaks: [] });
    expect(await cli(["audit", "verify"])).toMatchObject({ code: 0, out: expect.stringContaining("is sound") });
  });

  test("a row that was edited is found, at its place", async () => {
    const [, second] = await givenSealed();
    await sql`update audit set actor = 'user:nobody' where id = ${second?.id ?? ""}`;
    expect(await verify()).toEqual({ code: 1, breaks: [{ what: "changed", seq: second?.seq }] });
    expect((await cli(["audit", "verify"])).out).toContain("changed: row 2 is not what was sealed");
    await sql`delete from audit_chain where workspace_id = ${world.workspaceId}`;
    await sql`delete from audit_heads where workspace_id = ${world.workspaceId}`;
    await sql`delete from audit where workspace_id = ${world.workspaceId}`;
    await rm(join(data, auditHeadFile));
  });

  test("a row that was removed is found, at its place", async () => {
    const [, second] = await givenSealed();
    const [row] = await sql`delete from audit where id = ${second?.id ?? ""} returning *`;
    expect(await verify()).toEqual({ code: 1, breaks: [{ what: "removed", seq: second?.seq }] });
    expect(row).toBeDefined();
    await sql`delete from audit_chain where workspace_id = ${world.workspaceId}`;
    await sql`delete from audit_heads where workspace_id = ${world.workspaceId}`;
    await sql`delete from audit where workspace_id = ${world.workspaceId}`;
    await rm(join(data, auditHeadFile));
  });

  test("KN30: a tail that was cut off, with its heads in the database, is found by the heads that were kept", async () => {
    const rows = await givenSealed();
    const kept = join(data, "kept-elsewhere.jsonl");
    await writeFile(kept, await readFile(join(data, auditHeadFile)));
    await rm(join(data, auditHeadFile));
    const last = rows.at(-1)?.seq ?? 0;
    await sql`delete from audit where id in ${sql(rows.slice(-2).map(({ id }) => id))}`;
    await sql`delete from audit_chain where workspace_id = ${world.workspaceId} and seq > ${last - 2}`;
    await sql`delete from audit_heads where workspace_id = ${world.workspaceId}`;
    expect(await verify()).toEqual({ code: 0, breaks: [] });
    expect(await verify("--heads", kept)).toEqual({ code: 1, breaks: [{ what: "cut", seq: last - 1 }] });
  });

  test("is exported whole, a line for each row, to administrators alone", async () => {
    await givenSealed();
    const exported = await cli(["audit", "export"]);
    const lines = exported.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { seq: number; action: string });
    expect(lines.map(({ seq, action }) => [seq, action])).toEqual([1, 2, 3].map((seq) => [seq, "secret.set"]));
    expect(await cli(["audit", "export"], { as: "viewer" })).toMatchObject({ code: 3, out: "" });
  });
});

describe("tokens and definitions", () => {
  test("a token is made, works, is listed without its value, and is refused once it is revoked", async () => {
    const made = json<{ id: string; token: string }>(
      await cli(["tokens", "create", "for a program", "--user", "Olga Operator", "--days", "1", "--json"]),
    );
    tokens["made"] = made.token;
    expect(await cli(["runs", "ls"], { as: "made" })).toMatchObject({ code: 0 });
    const listed = await cli(["tokens", "ls", "--json"]);
    expect(json(listed)).toContainEqual(
      expect.objectContaining({ id: made.id, label: "for a program", mayDecide: false }),
    );
    expect(listed.out).not.toContain(made.token);
    expect(await cli(["tokens", "revoke", made.id.slice(-8)])).toMatchObject({ code: 0 });
    expect(await cli(["runs", "ls"], { as: "made" })).toMatchObject({ code: 3 });
    expect(await cli(["tokens", "revoke", "ffffffff"])).toMatchObject({ code: 2 });
  });

  test("defs apply shows the difference first, and changes something only where it is told to", async () => {
    const file = join(data, "helper.json");
    const spec = { name: "helper", model: "scripted", instructions: "Help.", toolset: ["kb.read"] };
    await writeFile(file, JSON.stringify(spec));
    const asked = await cli(["defs", "apply", file]);
    expect(asked).toMatchObject({ code: 2, error: expect.stringContaining("--yes") });
    expect(asked.out).toContain("helper is new");
    expect(await cli(["defs", "apply", file, "--dry-run"])).toMatchObject({ code: 0 });
    expect((await cli(["defs", "ls"])).out).not.toContain("helper");
    expect(await cli(["defs", "apply", file, "--yes"])).toMatchObject({ code: 0 });

    await writeFile(file, JSON.stringify([{ ...spec, toolset: ["kb.read", "mail.send"] }]));
    const changed = await cli(["defs", "apply", file, "--yes"]);
    expect(changed.out).toContain('+ toolset: ["kb.read","mail.send"]');
    expect(changed.out).toContain("its runs may reach mail.send from now on");
    expect(changed.out).toContain("helper is in version 2");
    expect((await cli(["defs", "apply", file])).out).toContain("helper is unchanged");
    expect(await cli(["defs", "apply", file, "--yes"], { as: "viewer" })).toMatchObject({ code: 3 });
    await writeFile(file, "{");
    expect(await cli(["defs", "apply", file])).toMatchObject({ code: 2 });
  });
});

describe("definitions", () => {
  test("defs show writes what defs apply takes, whatever it holds; what a list holds is refused with that", async () => {
    const file = join(data, "round.json");
    const spec = { name: "round", model: "scripted", instructions: "Say \u202e⏎ ⟨\n\u{e0041}.", toolset: ["kb.read"] };
    await writeFile(file, JSON.stringify(spec));
    expect(await cli(["defs", "apply", file, "--yes"])).toMatchObject({ code: 0 });
    for (const more of [[], ["--json"]]) {
      const { out } = await cli(["defs", "show", "round", ...more]);
      expect(JSON.parse(out)).toMatchObject(spec);
      await writeFile(file, out);
      expect((await cli(["defs", "apply", file])).out).toContain("round is unchanged");
    }
    expect((await cli(["defs", "show", "round"])).out).not.toMatch(/[\u202e\u{e0041}]/u);
    expect(await cli(["defs", "show", "nobody"])).toMatchObject({ code: 1 });
    await writeFile(file, (await cli(["defs", "ls", "--json"])).out);
    const listed = await cli(["defs", "apply", file]);
    expect(listed).toMatchObject({ code: 2, error: expect.stringContaining("./countersign defs show <name>") });
  });

  test("one whose toolset names tools that the server does not have is told of by defs ls and doctor", async () => {
    const spec = { name: "agent", model: "scripted", instructions: "", toolset: ["kb.read", "my.gone"] };
    await sql`
      update definition_versions set spec = ${JSON.stringify(spec)}::text::json
       where definition_id in (select id from definitions where workspace_id = ${world.workspaceId})`;
    const told = "agent names tools that the server does not have: my.gone";
    expect((await cli(["defs", "ls"])).out).toContain(told);
    expect(await cli(["doctor"])).toMatchObject({
      code: 0,
      out: expect.stringContaining(`tools: the definition ${told}`),
    });
  });
});

describe("people", () => {
  test("are added, listed and given another role by an administrator; others see names", async () => {
    const added = await cli(["people", "add", "--name", "Bea", "--role", "viewer", "--email", "bea@example.org"]);
    expect(added).toMatchObject({ code: 0, out: expect.stringContaining("Bea is viewer") });
    expect(await cli(["people", "role", "Bea", "approver"])).toMatchObject({ code: 0 });
    const listed = json<object[]>(await cli(["people", "--json"]));
    expect(listed).toContainEqual(expect.objectContaining({ name: "Bea", role: "approver", email: "bea@example.org" }));
    expect((await cli(["people", "ls"], { as: "viewer" })).out).toMatch(/^Bea {2}[0-9a-f]{8}$/m);
    expect(await cli(["people", "add", "--name", "ci", "--role", "operator", "--service"])).toMatchObject({ code: 0 });
    expect((await cli(["people"])).out).toMatch(/ci +operator, a program/);
    expect(await cli(["people", "role", "Bea", "king"])).toMatchObject({ code: 2 });
    expect(await cli(["people", "add", "--name", "Bea", "--role", "viewer"])).toMatchObject({ code: 4 });
  });

  test("a group that is named alone lists, and a word that is none of its verbs is named with those that there are", async () => {
    expect(await cli(["tasks"])).toMatchObject({ code: 0, out: "Nothing waits for you.\n" });
    expect(await cli(["runs"])).toMatchObject({ code: 0, out: "No runs yet.\n" });
    const slip = await cli(["runs", "lst"]);
    expect(slip).toMatchObject({
      code: 2,
      error: expect.stringContaining('runs has no verb "lst"; there are ls, get'),
    });
  });

  test("a reminder's time that is none is named with the form that it has, and one that has passed is due at once", async () => {
    for (const [time, told] of [
      ["tomorrow", '<time> is "tomorrow"; expected a day and a time with its offset'],
      ["2026-01-31T09:00:00", "which does not say in which zone"],
      ["2026-02-31T09:00:00Z", "dueAt: expected a moment with its offset"],
    ] as const) {
      const refused = await cli(["reminders", "add", time, "x"]);
      expect(refused).toMatchObject({ code: 2, error: expect.stringContaining(told) });
    }
    const past = await cli(["reminders", "add", "2020-01-31T09:00:00+01:00", "x"]);
    expect(past).toMatchObject({ code: 0, out: expect.stringContaining("has passed, so it is due at once") });
  });
});

describe("this machine", () => {
  test("doctor looks at everything, says what it found, and exits with 1 where something is wrong", async () => {
    const sound = json<{ about: string; state: string }[]>(await cli(["doctor", "--json"]));
    expect(sound.map(({ about, state }) => `${about} ${state}`)).toEqual(
      ["environment", "database", "pooler", "clock", "keys", "vectors", "server", "kill switches"].map(
        (about) => `${about} ok`,
      ),
    );
    const lost = await runVerb({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", COUNTERSIGN_DATA: data }, [
      "doctor",
    ]);
    expect(lost).toMatchObject({ code: 1, error: expect.stringContaining("database, server") });
    expect(lost.out).toContain("PostgreSQL does not answer at 127.0.0.1:1");
  });

  test("doctor knows a server that answers where it has no token for it, and secrets whose key is in another folder", async () => {
    expect(await cli(["secrets", "set", "slack.send"], { input: "a-value-of-ours" })).toMatchObject({ code: 0 });
    const port = new URL(address).port;
    const empty = await mkdtemp(join(data, "empty-"));
    const looked = await runVerb({ DATABASE_URL: url, COUNTERSIGN_DATA: empty, PORT: port }, ["doctor"]);
    expect(looked.out).toContain(`! server: one answers at http://127.0.0.1:${port}, and this shell has no token`);
    expect(looked.out).not.toContain("migrate");
    expect(looked.out).toMatch(
      /✘ keys: there is no master key in \S+, and \d+ stored secrets? (is|are) sealed to the key of/,
    );
    expect(looked.code).toBe(1);
    const none = await runVerb({ DATABASE_URL: url, COUNTERSIGN_DATA: empty, PORT: "1" }, ["doctor"]);
    expect(none.out).toContain("✘ server: none answers at http://127.0.0.1:1,");
  });

  test("openapi is the server's own description", async () => {
    const described = json<{ openapi: string; paths: object }>(await cli(["openapi"]));
    expect(described.openapi).toBe("3.1.0");
    expect(Object.keys(described.paths)).toContain("/v1/secrets/{name}");
  });

  test("the completion of bash completes verbs, verbs under verbs, and options", async () => {
    const { out: script } = await cli(["completion", "bash"]);
    const complete = (words: readonly string[]): string[] => {
      const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _countersign; echo "\${COMPREPLY[@]}"`;
      const ran = spawnSync("bash", ["-c", `${script}\n${line}`], { encoding: "utf8" });
      expect(ran.stderr).toBe("");
      return ran.stdout.trim().split(" ").filter(Boolean);
    };
    expect(complete(["countersign", "se"])).toEqual(["serve", "secrets"]);
    expect(complete(["countersign", "secrets", ""])).toEqual(["ls", "set", "rm", "rotate"]);
    expect(complete(["countersign", "secrets", "set", "mail.send", "--n"])).toEqual(["--name", "--no-color"]);
    expect(complete(["countersign", "doctor", "--j"])).toEqual(["--json"]);
    expect(complete(["countersign", "kill", "l"])).toEqual(["ls"]);
    expect(complete(["countersign", "kill", "--r"])).toEqual(["--run", "--reason"]);
    expect(await cli(["completion", "fish"])).toMatchObject({ code: 2 });
  });

  test("the completion of zsh names every verb", async () => {
    const { out: script } = await cli(["completion", "zsh"]);
    for (const part of ["#compdef countersign", "'secrets:", "'verify:", "'defs apply') compadd -- --yes --dry-run"])
      expect(script).toContain(part);
  });
});

describe("rules", () => {
  const policyFile = async (text: string): Promise<string> => {
    const path = join(data, "policy.json");
    await writeFile(path, text);
    return path;
  };

  test("are set, listed, taken back by what the list shows, and cleared", async () => {
    expect(await cli(["rules", "set", "tool:mail.send", "ask"])).toMatchObject({ code: 0 });
    expect(await cli(["rules", "set", "family:mcp", "off", "--for", "2h"])).toMatchObject({ code: 0 });
    const listed = json<{ rules: { id: string; mode: string; expiresAt: string | null }[] }>(
      await cli(["rules", "ls", "--json"], { as: "viewer" }),
    );
    expect(listed.rules).toMatchObject([
      { mode: "off", expiresAt: expect.any(String) },
      { mode: "ask", expiresAt: null },
    ]);
    const [off] = listed.rules;
    expect(await cli(["rules", "revoke", off?.id.slice(-8) ?? ""])).toMatchObject({
      code: 0,
      out: expect.stringContaining("revoked"),
    });
    expect(await cli(["rules", "set", "tool:mail.send", "inherit"])).toMatchObject({ code: 0 });
    expect((await cli(["rules", "ls"])).out).toContain("This workspace has no rules.");
  });

  test("that a lock of the installation outdoes are stored, and what holds instead is said", async () => {
    const target = { kind: "tool", name: "mail.send" } as const;
    const author = { userId: undefined, way: "configuration" };
    const locked = {
      target,
      rule: { mode: "ask", locked: true },
      covers: ["mail.send"],
      seenVersion: undefined,
    } as const;
    await setRules(sql, appScope, author, [locked]);
    const set = await cli(["rules", "set", "tool:mail.send", "allow"]);
    await setRules(sql, appScope, author, [{ ...locked, rule: undefined }]);
    expect(set).toMatchObject({ code: 0, out: expect.stringContaining("tool:mail.send is allow in this workspace.") });
    expect(set.out).toMatch(
      /It has no effect now: every such call still asks, since the installation says so \(ask_locked@app, rule /,
    );
    expect(set.out).toContain("./countersign explain --tool mail.send --args <json> shows why.");
  });

  test("that loosen what is locked, or let run what waits, are written after a person has agreed, and say what they replaced", async () => {
    const set = (...args: string[]) => cli(["rules", "set", "tool:mail.send", ...args]);
    expect(await set("ask", "--lock", "--for", "2h")).toMatchObject({ code: 0 });
    for (const change of [["allow"], ["ask"], ["inherit"]]) {
      const unasked = await set(...change);
      expect(unasked).toMatchObject({ code: 2, error: expect.stringContaining("--dry-run") });
      expect(unasked.out).toContain("It loosens what is locked.");
    }
    const looked = await set("allow", "--dry-run");
    expect(looked).toMatchObject({
      code: 0,
      out: expect.stringContaining('- tool:mail.send: {"mode":"ask","locked":true'),
    });
    expect(json<{ rules: unknown[] }>(await cli(["rules", "ls", "--json"])).rules).toMatchObject([{ mode: "ask" }]);
    const done = await set("allow", "--yes");
    expect(done.code).toBe(0);
    expect(done.out).toMatch(/is allow in this workspace, in place of ask, locked, until \d/);

    expect(await set("inherit")).toMatchObject({ code: 0, out: expect.stringContaining("in place of allow.") });
    await givenGatedRun(sql, world);
    const letting = await set("allow");
    expect(letting).toMatchObject({ code: 2, out: expect.stringContaining("1 open approval is judged again") });
    expect(await set("off")).toMatchObject({ code: 0 });
  });

  test("of a file are shown as a difference, applied with --yes, and refused with the line that is wrong", async () => {
    const file = await policyFile(
      '{\n  "rules": [\n    {"target": {"kind": "tool", "name": "mail.send"}, "mode": "deny"}\n  ]\n}\n',
    );
    const shown = await cli(["rules", "apply", file, "--dry-run"]);
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('+ tool:mail.send: {"mode":"deny"}') });
    expect(await cli(["rules", "apply", file])).toMatchObject({ code: 2 });
    expect(await cli(["rules", "apply", file, "--yes"])).toMatchObject({ code: 0 });
    expect((await cli(["rules", "apply", file, "--yes"])).out).toContain("says so already");
    const broken = await policyFile(
      '{\n  "rules": [\n    {"target": {"kind": "tool", "name": "mail_send"}, "mode": "deny"}\n  ]\n}\n',
    );
    const refused = await cli(["rules", "apply", broken, "--yes"]);
    expect(refused.code).toBe(2);
    expect(refused.error).toContain("line 3");

    // Whatever verb reads a file names it, and every line that is wrong.
    for (const verb of [["rules", "apply"], ["simulate"]]) {
      const several = await policyFile('{\n  "rule": [],\n  "dail": {},\n  "dial": {"level": "hihg"}\n}\n');
      const told = await cli([...verb, several]);
      expect(told).toMatchObject({ code: 2, error: expect.stringContaining(several) });
      for (const line of [2, 3, 4]) expect(told.error).toContain(`line ${line}, `);
      const comma = await cli([...verb, await policyFile('{\n  "rules": [\n  ],\n}\n')]);
      expect(comma).toMatchObject({ code: 2, error: expect.stringContaining(several) });
      expect(comma.error).toContain("line 4");
    }
    expect(json<{ rules: unknown[] }>(await cli(["rules", "ls", "--json"])).rules).toHaveLength(1);
  });

  test("are set together by a preset, which the list names", async () => {
    const set = await cli(["rules", "preset", "low-risk"]);
    expect(set).toMatchObject({ code: 0, out: expect.stringContaining("This workspace is set to low-risk.") });
    expect((await cli(["rules", "ls"])).out).toContain("preset unset, low-risk");
    expect((await cli(["rules", "preset", "low-risk"])).out).toContain("says so already");
    expect(await cli(["rules", "preset", "lowrisk"])).toMatchObject({ code: 2 });
    expect(await cli(["rules", "preset", "yolo"], { as: "viewer" })).toMatchObject({ code: 3 });
    expect((await cli(["rules", "suggest"])).out).toContain("Nothing to suggest");
    const started = json<{ id: string }>(await cli(["runs", "start", "agent", "go", "--preset", "manual", "--json"]));
    expect((await cli(["rules", "ls", "--run", started.id])).out).toContain("preset manual");
    for (const more of [["--yolo"], ["--dial", "low"], ["--for", "1h"]])
      expect(await cli(["runs", "start", "agent", "go", "--preset", "manual", ...more])).toMatchObject({ code: 2 });
  });

  test("are explained and tried: a call that nobody made, and a file on the calls that were", async () => {
    const args = '{"to":["ann@example.com"],"subject":"x","text":"y"}';
    const explained = await cli(["explain", "--tool", "mail.send", "--args", args], { as: "viewer" });
    expect(explained).toMatchObject({ code: 0, out: expect.stringContaining("row") });
    expect(await cli(["explain"])).toMatchObject({ code: 2 });
    const broken = await cli(["explain", "--tool", "mail.send", "--args", "{bad"]);
    expect(broken).toMatchObject({ code: 2, error: expect.stringContaining("--args is not JSON") });
    const partial = await cli(["explain", "--tool", "mail.send", "--args", '{"to":["ann@example.com"]}']);
    expect(partial).toMatchObject({ code: 0, out: expect.stringContaining("$.subject: ") });
    expect(partial.out).toContain("received undefined");
    const shown = await cli(["tools", "show", "mail.send"], { as: "viewer" });
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('"subject"') });
    expect((await cli(["tools", "ls"])).out).toContain("mail.send");
    const simulated = await cli(["simulate", await policyFile('{"dial": {"level": "none"}}'), "--json"]);
    expect(json(simulated)).toMatchObject({ judged: 0, changeCount: 0 });
  });

  test("a dial and a tool's switch are turned and turned back, and only by who may", async () => {
    expect(await cli(["rules", "dial", "--level", "low", "--for", "30m"])).toMatchObject({ code: 0 });
    expect(json(await cli(["rules", "ls", "--json"]))).toMatchObject({ dial: { level: "low" } });
    expect(await cli(["rules", "dial", "--level", "inherit"])).toMatchObject({ code: 0 });
    expect(await cli(["rules", "dial", "--level", "eleven"])).toMatchObject({ code: 2 });
    const killed = await cli(["kill", "--tool", "mail.send", "--reason", "drill"]);
    expect(killed).toMatchObject({ code: 0, out: expect.stringContaining("tool mail.send are denied") });
    const [, howToLift = ""] = /\.\/countersign (lift .*)/.exec(killed.out) ?? [];
    expect(howToLift).toBe("lift --tool mail.send");
    const held = await cli(["kill", "--workspace", "--reason", "smoke"]);
    expect(held).toMatchObject({ code: 0, out: expect.stringContaining("Everything in this workspace is held") });
    const on = await cli(["kill", "ls"]);
    expect(on.out).toMatch(/this workspace: [^]*threw it [^]*smoke\n {2}.\/countersign lift --workspace\n/);
    expect(on.out).toMatch(/tool mail\.send\n[^]*drill\n {2}.\/countersign lift --tool mail\.send\n/);
    expect(json(await cli(["kill", "ls", "--json"], { as: "viewer" }))).toMatchObject([
      { scope: "workspace", reason: "smoke" },
      { scope: "tool", name: "mail.send", reason: "drill" },
    ]);
    expect((await cli(["kill", "ls"], { as: "viewer" })).out).not.toContain("lift");
    expect(json(await cli(["doctor", "--json"]))).toContainEqual(
      expect.objectContaining({
        about: "kill switches",
        state: "warn",
        found: expect.stringContaining("tool mail.send"),
      }),
    );
    expect(await cli(["lift", "--workspace"])).toMatchObject({ code: 0 });
    expect(await cli(howToLift.split(" "))).toMatchObject({ code: 0 });
    expect(await cli(["kill", "ls"])).toMatchObject({ code: 0, out: "No kill switch is on.\n" });
    expect(await cli(["kill", "--workspace"])).toMatchObject({ code: 2, error: expect.stringContaining("--reason") });
    expect(await cli(["kill", "--tool", "mail.send", "--workspace", "--reason", "x"])).toMatchObject({ code: 2 });
    expect(await cli(["rules", "set", "tool:mail.send", "allow"], { as: "viewer" })).toMatchObject({ code: 3 });
  });

  test("a run starts with what may run unasked in it", async () => {
    const started = await cli(["runs", "start", "agent", "go", "--yolo", "--for", "1h", "--json"]);
    const { id } = json<{ id: string }>(started);
    expect(json(await cli(["rules", "ls", "--run", id, "--json"]))).toMatchObject({
      dial: { level: "high", expiresAt: expect.any(String) },
      approvalPolicy: { level: "none" },
    });
    expect(await cli(["runs", "start", "agent", "go", "--yolo", "--dial", "low"])).toMatchObject({ code: 2 });
    expect(await cli(["runs", "start", "agent", "go", "--dial", "eleven"])).toMatchObject({ code: 2 });
  });
});
