import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { cleanEnvironment } from "./environment.ts";
import { openSecret } from "./open.ts";
import { deleteSecret, listSecrets, putSecret, readSealed } from "./secrets.ts";
import { seedFromEnvironment } from "./seed-from-environment.ts";
import { auditOf, makeKey, makeWorkspace, ringOf } from "./testing/fixtures.ts";

const { sql, url } = await testDatabase();
const key = makeKey();
const keyring = ringOf(key);

function seed(workspaceId: string, environment: Record<string, string>) {
  return seedFromEnvironment(sql, key.publicKey, environment, { workspaceId, keyring });
}

async function valueOf(workspaceId: string, capability: string): Promise<string | undefined> {
  const row = await readSealed(sql, { workspaceId, capability });
  return row && openSecret(keyring, row.identity, row.sealed);
}

const full = {
  ANTHROPIC_API_KEY: "sk-ant-canary-1",
  SLACK_BOT_TOKEN: "xoxb-canary-2",
  GOOGLE_CLIENT_ID: "client-id",
  GOOGLE_CLIENT_SECRET: "client-canary-3",
  DEEPGRAM_API_KEY: "deepgram-canary-4",
  SMTP_HOST: "smtp.example.com",
  SMTP_PORT: "2525",
  SMTP_SECURE: "false",
  SMTP_USER: "agent",
  SMTP_PASS: "smtp-canary-5",
  SMTP_FROM: "agent@example.com",
  IMAP_HOST: "imap.example.com",
  IMAP_USER: "agent",
  IMAP_PASS: "imap-canary-6",
  CALDAV_URL: "https://dav.example.com/",
  CALDAV_USER: "agent",
  CALDAV_PASS: "caldav-canary-7",
};

test("each recognised variable becomes the secret of its capability, once, and is reported by name", async () => {
  const workspaceId = await makeWorkspace(sql);
  const environment = { ...full, PATH: "/bin", DATABASE_URL: "postgres://x" };
  const first = await seed(workspaceId, environment);
  expect(first.map(({ capability, outcome }) => `${capability} ${outcome}`)).toEqual([
    "llm.anthropic seeded",
    "slack.send seeded",
    "speech.deepgram seeded",
    "google.oauth seeded",
    "mail.send seeded",
    "mail.read seeded",
    "calendar.read seeded",
    "calendar.write seeded",
  ]);
  expect(first[0]?.variables).toEqual(["ANTHROPIC_API_KEY"]);
  expect(JSON.stringify(first)).not.toContain("canary");
  expect(await valueOf(workspaceId, "llm.anthropic")).toBe("sk-ant-canary-1");
  expect(JSON.parse((await valueOf(workspaceId, "mail.send")) ?? "")).toEqual({
    host: "smtp.example.com",
    port: 2525,
    secure: false,
    user: "agent",
    pass: "smtp-canary-5",
    from: "agent@example.com",
  });
  expect(JSON.parse((await valueOf(workspaceId, "mail.read")) ?? "")).toMatchObject({
    port: 993,
    pass: "imap-canary-6",
  });
  expect(JSON.parse((await valueOf(workspaceId, "google.oauth")) ?? "")).toEqual({
    client_id: "client-id",
    client_secret: "client-canary-3",
  });
  const again = await seed(workspaceId, environment);
  expect(new Set(again.map(({ outcome }) => outcome))).toEqual(new Set(["kept"]));
  expect((await listSecrets(sql, workspaceId)).every(({ version }) => version === 1)).toBe(true);
  expect(await auditOf(sql, workspaceId)).toHaveLength(8);
});

test("a stale variable changes nothing: a rotated secret stays, and the difference is said without a value", async () => {
  const workspaceId = await makeWorkspace(sql);
  await seed(workspaceId, { SLACK_BOT_TOKEN: "xoxb-from-the-start" });
  const value = "xoxb-rotated-by-a-person";
  await putSecret(sql, key.publicKey, { workspaceId, name: "slack.send", capability: "slack.send", value });
  const reports = await seed(workspaceId, { SLACK_BOT_TOKEN: "xoxb-from-the-start" });
  expect(reports).toEqual([
    { capability: "slack.send", variables: ["SLACK_BOT_TOKEN"], outcome: "kept: environment differs" },
  ]);
  expect(await valueOf(workspaceId, "slack.send")).toBe(value);
  const unopened = await seedFromEnvironment(sql, key.publicKey, { SLACK_BOT_TOKEN: "other-token" }, { workspaceId });
  expect(unopened[0]?.outcome).toBe("kept");
});

test("a secret that serves the capability under another name is kept, too", async () => {
  const workspaceId = await makeWorkspace(sql);
  await putSecret(sql, key.publicKey, {
    workspaceId,
    name: "our relay",
    capability: "slack.send",
    value: "set-by-hand",
  });
  expect(await seed(workspaceId, { SLACK_BOT_TOKEN: "set-by-hand" })).toMatchObject([{ outcome: "kept" }]);
  expect(await listSecrets(sql, workspaceId)).toHaveLength(1);
});

test("a deleted secret is not brought back, and a person who sets it does", async () => {
  const workspaceId = await makeWorkspace(sql);
  await seed(workspaceId, { SLACK_BOT_TOKEN: "xoxb-leaked" });
  await deleteSecret(sql, { workspaceId, name: "slack.send" });
  expect(await seed(workspaceId, { SLACK_BOT_TOKEN: "xoxb-leaked" })).toMatchObject([{ outcome: "kept: deleted" }]);
  expect(await valueOf(workspaceId, "slack.send")).toBeUndefined();
  await putSecret(sql, key.publicKey, { workspaceId, name: "slack.send", capability: "slack.send", value: "set-anew" });
  expect(await valueOf(workspaceId, "slack.send")).toBe("set-anew");
});

test("of two processes that boot at once, one seeds", async () => {
  const workspaceId = await makeWorkspace(sql);
  const elsewhere = connect(url, { max: 2 });
  try {
    const boot = (on: typeof sql) => seedFromEnvironment(on, key.publicKey, full, { workspaceId, keyring });
    const reports = await Promise.all([boot(sql), boot(elsewhere), boot(sql)]);
    for (const capability of ["llm.anthropic", "mail.send", "calendar.write"]) {
      const outcomes = reports.map((report) => String(report.find((one) => one.capability === capability)?.outcome));
      expect(outcomes.toSorted()).toEqual(["kept", "kept", "seeded"]);
    }
  } finally {
    await elsewhere.end();
  }
});

test("half a pair is no secret, and says what is missing", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { SMTP_USER: _user, GOOGLE_CLIENT_SECRET: _secret, ...half } = full;
  const reports = await seed(workspaceId, { ...half, IMAP_PASS: "" });
  const incomplete = reports.filter(({ outcome }) => outcome === "incomplete");
  expect(incomplete.map(({ capability, missing }) => [capability, missing])).toEqual([
    ["google.oauth", ["GOOGLE_CLIENT_SECRET"]],
    ["mail.send", ["SMTP_USER"]],
    ["mail.read", ["IMAP_PASS"]],
  ]);
});

test("what is no secret is refused, and does not keep others from being seeded", async () => {
  const workspaceId = await makeWorkspace(sql);
  const environment = {
    ANTHROPIC_API_KEY: "short",
    SLACK_BOT_TOKEN: "half-\ud800-a-pair",
    DEEPGRAM_API_KEY: "long-enough",
  };
  const reports = await seed(workspaceId, environment);
  expect(reports.map(({ outcome }) => outcome)).toEqual(["refused: too short", "refused: not text", "seeded"]);
});

test("the environment for the process that runs agents has none of these variables, and all others", () => {
  const clean = cleanEnvironment({ ...full, PATH: "/bin", DATABASE_URL: "postgres://x", EMPTY: undefined });
  expect(clean).toEqual({ PATH: "/bin", DATABASE_URL: "postgres://x", EMPTY: undefined });
});
