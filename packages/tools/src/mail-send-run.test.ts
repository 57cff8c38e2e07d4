import { createHash } from "node:crypto";
import type { AddressInfo } from "node:net";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { putFile } from "@countersign/ops/files.ts";
import { callsOf, crashAt, decidePending, outcomeOf } from "@countersign/engine/testing/driver.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { driveRun, makeEngine, takeRun, type TestEngine } from "@countersign/engine/testing/engine.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { mailSend } from "./mail-send.ts";
import { type SmallImap, startSmallImap } from "./testing/small-imap.ts";
import { startScriptedSmtp } from "./testing/scripted-smtp.ts";

const { sql } = await engineDatabase();

let taken: string[] = [];
let imap: SmallImap;
beforeEach(async () => {
  taken = [];
  imap = await startSmallImap();
  return () => imap.close();
});

const server = new SMTPServer({
  disabledCommands: ["STARTTLS", "AUTH"],
  authOptional: true,
  onData(stream, _session, done) {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      taken.push(Buffer.concat(chunks).toString());
      done();
    });
  },
});
const listening = server.listen(0, "127.0.0.1");
await new Promise((resolve) => listening.once("listening", resolve));
const { port } = listening.address() as AddressInfo;
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

const settings = { host: "127.0.0.1", port, from: "agent@example.com" };
const withImap = () => ({ imapHost: "127.0.0.1", imapPort: imap.port, imapUser: "agent", imapPass: "pass/+word" });
const spec = { name: "agent", model: "scripted", toolset: ["mail.send"] };
const mail = { to: ["a@example.org"], subject: "Hello", text: "One line" };

async function givenMail(
  args: object = mail,
  secret: object = settings,
  before: (world: World) => Promise<unknown> = async () => undefined,
): Promise<{ engine: TestEngine; world: World; runId: string }> {
  const world = await makeWorld(sql, spec);
  await before(world);
  const engine = makeEngine(
    sql,
    [mailSend],
    ({ results }) =>
      results.length === 0
        ? { use: [{ tool: "mail.send", args }] }
        : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") },
    { openCapability: async () => ({ use: (body) => body(JSON.stringify(secret)) }) },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { engine, world, runId };
}

/** A file of no page, which everybody in the workspace sees; answers its handle. */
async function storeFile(workspaceId: string, bytes: Buffer): Promise<string> {
  const hash = await storeBlob(sql, workspaceId, bytes, "text/csv");
  await putFile(sql, { workspaceId, hash, name: "people.csv", mediaType: "text/csv", createdBy: "user:1" });
  return `sha256:${hash}`;
}

async function approve({ engine, world, runId }: Awaited<ReturnType<typeof givenMail>>): Promise<string> {
  await decidePending(sql, world, runId, "approve");
  await driveRun(engine, runId);
  return await outcomeOf(sql, runId);
}

async function messageIdOf(runId: string): Promise<string> {
  const [call] = await sql<{ id: string }[]>`select id from tool_calls where run_id = ${runId}`;
  return `<${call?.id}@example.com>`;
}

describe("what was approved is what is sent", () => {
  test("a mail is sent once it is approved, with files of the store by their hash", async () => {
    const bytes = Buffer.from("id;name\n1;Ann\n");
    let handle = "";
    const given = await givenMail(mail, settings, async ({ workspaceId }) => {
      handle = await storeFile(workspaceId, bytes);
    });
    const args = { ...mail, attachments: [{ handle, filename: "people.csv" }] };
    const withFile = await givenMail(args, settings, ({ workspaceId }) => storeFile(workspaceId, bytes));
    expect(await approve(given)).toMatch(/^completed: ok mail accepted/);
    expect(await approve(withFile)).toMatch(/^completed: ok mail accepted/);
    const read = await PostalMime.parse(taken[1] ?? "", { attachmentEncoding: "utf8" });
    expect(read.attachments).toMatchObject([{ filename: "people.csv", content: bytes.toString() }]);
  });

  test("a file that is another workspace's, or nobody's, is not sent and neither is the mail", async () => {
    let handle = "";
    await givenMail(mail, settings, async ({ workspaceId }) => {
      handle = await storeFile(workspaceId, Buffer.from("theirs"));
    });
    const foreign = await givenMail({ ...mail, attachments: [{ handle, filename: "x.txt" }] });
    expect(await approve(foreign)).toContain(`mail not sent (attachment_unusable): x.txt: there is no ${handle}`);
    expect(taken).toEqual([]);
  });

  test("content of which the run knows only the hash is not sent", async () => {
    const bytes = Buffer.from("nobody's to see");
    const handle = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    const given = await givenMail({ ...mail, attachments: [{ handle, filename: "x" }] }, settings, ({ workspaceId }) =>
      storeBlob(sql, workspaceId, bytes, "text/plain"),
    );
    expect(await approve(given)).toContain(`x: there is no ${handle}`);
    expect(taken).toEqual([]);
  });

  test("a stored file that is no longer what its hash says is not sent", async () => {
    const bytes = Buffer.from("as approved");
    let world: World | undefined;
    let handle = "";
    const store = async (made: World) => {
      world = made;
      handle = await storeFile(made.workspaceId, bytes);
    };
    await givenMail(mail, settings, store);
    const given = await givenMail({ ...mail, attachments: [{ handle, filename: "x.txt" }] }, settings, store);
    await sql`update blob_chunks set bytes = 'as swapped!'::bytea where workspace_id = ${world?.workspaceId ?? ""}`;
    expect(await approve(given)).toContain(`x.txt: what is stored as ${handle} is something else`);
    expect(taken).toEqual([]);
  });

  test("a message that this version writes otherwise than the card's is not sent", async () => {
    const given = await givenMail();
    await sql`update approvals set card = regexp_replace(card, 'sha256 [0-9a-f]{64}', 'sha256 ' || repeat('0', 64)) where run_id = ${given.runId}`;
    expect(await approve(given)).toContain("mail not sent (message_changed)");
    expect(taken).toEqual([]);
  });
});

describe("KN33: a server that drops after the message", () => {
  async function approveDropped(
    secret: (port: number) => object,
  ): Promise<{ runId: string; outcome: string; given: Awaited<ReturnType<typeof givenMail>> }> {
    const dropping = await startScriptedSmtp({ answers: { end: "drop" } });
    const given = await givenMail(mail, secret(dropping.port));
    imap.addSent(await messageIdOf(given.runId));
    const outcome = await approve(given);
    expect(dropping.received().match(/Subject: Hello/g)).toHaveLength(1);
    await dropping.close();
    return { runId: given.runId, outcome, given };
  }

  test("has sent the mail where it is found among the sent ones", async () => {
    const { runId, outcome } = await approveDropped((dropped) => ({ ...settings, ...withImap(), port: dropped }));
    expect(outcome).toBe(
      `completed: ok mail sent: it is in the folder Sent Items\nMessage-ID ${await messageIdOf(runId)}`,
    );
  });

  test("leaves the outcome to a person where nobody can look", async () => {
    const { outcome } = await approveDropped((dropped) => ({ ...settings, port: dropped }));
    expect(outcome).toBe("paused: outcome");
  });

  test("leaves it to a person where the mail is not found, who is told so; and it is sent again only when they say so", async () => {
    const dropping = await startScriptedSmtp({ answers: { end: "drop" } });
    const secret = { ...settings, ...withImap(), port: dropping.port };
    const given = await givenMail(mail, secret);
    expect(await approve(given)).toBe("paused: outcome");
    const [call] = await callsOf(sql, given.runId);
    expect(call?.result).toMatch(/mail perhaps sent .* It is not in the folder Sent Items so far\.$/);
    secret.port = port;
    await decidePending(sql, given.world, given.runId, "retry");
    await driveRun(given.engine, given.runId);
    expect(taken).toHaveLength(1);
    expect(taken[0]).toContain(await messageIdOf(given.runId));
    await dropping.close();
  });
});

describe("a worker that dies in the middle", () => {
  async function givenDeath(secret: object): Promise<Awaited<ReturnType<typeof givenMail>>> {
    const silent = await startScriptedSmtp({ answers: { end: "silence" } });
    const given = await givenMail(mail, { ...secret, port: silent.port });
    await decidePending(sql, given.world, given.runId, "approve");
    const held = await takeRun(given.engine, given.runId);
    const underWay = (async () => {
      while (!silent.received().includes("One line")) await new Promise((resolve) => setTimeout(resolve, 5));
    })();
    await crashAt(given.engine, held, underWay);
    held.abort.abort();
    await silent.close();
    return given;
  }

  test("has sent the mail where the next one finds it among the sent ones", async () => {
    const given = await givenDeath({ ...settings, ...withImap() });
    imap.addSent(await messageIdOf(given.runId));
    await driveRun(given.engine, given.runId);
    expect(await outcomeOf(sql, given.runId)).toMatch(/^completed: ok mail sent: it is in the folder Sent Items/);
  });

  test("leaves it to a person otherwise, and nothing is sent again", async () => {
    const given = await givenDeath(settings);
    await driveRun(given.engine, given.runId);
    expect(await outcomeOf(sql, given.runId)).toBe("paused: outcome");
    expect(await callsOf(sql, given.runId)).toMatchObject([{ status: "unknown" }]);
    expect(taken).toEqual([]);
  });
});
