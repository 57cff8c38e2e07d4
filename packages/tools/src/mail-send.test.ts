import type { AddressInfo } from "node:net";
import type { Tx } from "@countersign/db/connect.ts";
import { nothingShown } from "@countersign/engine/shown.ts";
import type { OutsideContext, ToolOf, ToolResult } from "@countersign/engine/tool.ts";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { mailSend } from "./mail-send.ts";
import { startScriptedSmtp } from "./testing/scripted-smtp.ts";

type Arguments = Record<string, unknown>;
const tool = mailSend as unknown as Extract<ToolOf<Arguments>, { effect: "once" | "idempotent" }>;

interface Taken {
  readonly from: string;
  readonly recipients: string[];
  readonly user: string | undefined;
  readonly source: string;
}

let taken: Taken[] = [];
beforeEach(() => {
  taken = [];
});

const server = new SMTPServer({
  disabledCommands: ["STARTTLS"],
  allowInsecureAuth: true,
  onAuth(auth, _session, done) {
    if (auth.username === "agent" && auth.password === "pass/+word") done(null, { user: "agent" });
    else done(new Error(`Invalid login for ${auth.username} ${auth.password}`));
  },
  onData(stream, session, done) {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      taken.push(readTaken(session, Buffer.concat(chunks).toString("utf8")));
      done();
    });
  },
});
const listening = server.listen(0, "127.0.0.1");
await new Promise((resolve) => listening.once("listening", resolve));
const { port } = listening.address() as AddressInfo;
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

function readTaken(session: SMTPServerSession, source: string): Taken {
  const { mailFrom, rcptTo } = session.envelope;
  return {
    from: mailFrom === false ? "" : mailFrom.address,
    recipients: rcptTo.map((recipient) => recipient.address),
    user: String(session.user),
    source,
  };
}

const settings = {
  host: "127.0.0.1",
  port,
  user: "agent",
  pass: "pass/+word",
  from: "agent@example.com",
};
const idempotencyKey = "018f3b5e-7c1d-7e2a-9b44-1c2d3e4f5a6b";
const mail = { to: ["a@example.org"], subject: "Hello", text: "One line" };

async function send(mailArguments: Arguments, secret: unknown = settings): Promise<ToolResult> {
  const acquired: string[] = [];
  const context: OutsideContext = {
    workspaceId: "w",
    runId: "r",
    callId: "c",
    userId: "u",
    idempotencyKey,
    preconditions: [],
    selectedOptionId: undefined,
    signal: new AbortController().signal,
    shown: nothingShown(),
    read: nobodyWasAsked,
    async acquire(capability) {
      acquired.push(capability);
      return { use: (body) => body(typeof secret === "string" ? secret : JSON.stringify(secret)) };
    },
  };
  const result = await tool.execute(tool.schema.parse(mailArguments), context);
  expect(acquired).toEqual(["mail.send"]);
  return result;
}

/** A database in which the call has no approval, as where policy let it run unasked. */
async function nobodyWasAsked<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
  return await body((async () => []) as unknown as Tx);
}

function headerOf(source: string, name: string): string | undefined {
  const head = source.slice(0, source.indexOf("\r\n\r\n")).replace(/\r\n[ \t]+/g, " ");
  return head
    .split("\r\n")
    .find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    ?.slice(name.length + 1)
    .trim();
}

describe("what is sent", () => {
  test("goes to exactly the listed recipients, each once, and blind copies are in no header", async () => {
    const result = await send({
      ...mail,
      to: ["a@example.org", "b@example.org"],
      cc: ["c@example.org", "a@example.org"],
      bcc: ["hidden@example.net"],
      replyTo: "answers@example.com",
    });
    expect(result.kind).toBe("done");
    expect(taken).toHaveLength(1);
    const [one] = taken;
    expect(one?.user).toBe("agent");
    expect(one?.from).toBe("agent@example.com");
    expect(one?.recipients).toEqual(["a@example.org", "b@example.org", "c@example.org", "hidden@example.net"]);
    expect(headerOf(one?.source ?? "", "To")).toBe("a@example.org, b@example.org");
    expect(headerOf(one?.source ?? "", "Cc")).toBe("c@example.org, a@example.org");
    expect(headerOf(one?.source ?? "", "Reply-To")).toBe("answers@example.com");
    expect(headerOf(one?.source ?? "", "From")).toBe("agent@example.com");
    expect(one?.source).not.toContain("hidden@example.net");
  });

  test("carries the same Message-ID for every attempt of one call", async () => {
    const first = await send(mail);
    await send(mail);
    const ids = taken.map((one) => headerOf(one.source, "Message-ID"));
    expect(ids).toEqual([`<${idempotencyKey}@example.com>`, `<${idempotencyKey}@example.com>`]);
    expect(first.content).toContain(`Message-ID <${idempotencyKey}@example.com>`);
  });

  test("says what the model wrote, whatever it wrote", async () => {
    const text = "ñ 🔑\n.\n..\nFrom here\r\n.\rBcc: x@example.net\n\n{{path}} file:///etc/passwd http://127.0.0.1/";
    await send({ ...mail, subject: "Grüße: Re: =?utf-8?Q?x?= 🔑", text });
    const [one] = taken;
    const body = (one?.source ?? "").slice((one?.source ?? "").indexOf("\r\n\r\n") + 4);
    const encoding = headerOf(one?.source ?? "", "Content-Transfer-Encoding");
    const decoded = encoding === "base64" ? Buffer.from(body, "base64").toString("utf8") : decodeQuotedPrintable(body);
    expect(decoded.trimEnd().split("\r\n")).toEqual(text.split(/\r\n|\r|\n/));
    expect(headerOf(one?.source ?? "", "Content-Type")).toMatch(/^text\/plain; charset=utf-8/);
    expect(headerOf(one?.source ?? "", "Bcc")).toBeUndefined();
    expect(one?.source).not.toMatch(/[^\r]\n/);
  });

  test("cannot be cut into two messages by dots and bare line ends", async () => {
    const smuggled =
      "x\n.\nMAIL FROM:<agent@example.com>\nRCPT TO:<e@evil.example>\nDATA\nSubject: y\n\nz\r.\r\n.\r\nMAIL FROM:<a@b.co>\r\n";
    await send({ ...mail, text: smuggled });
    expect(taken.map((one) => one.recipients)).toEqual([["a@example.org"]]);
    expect(taken[0]?.source).not.toMatch(/[^\r]\n|\r[^\n]/);
  });

  test("is addressed to the letter, odd but plain ones too", async () => {
    const odd = ["o'brien+x@example.org", "a+b_c-d~e@sub.example.org", "Case.Sensitive@Example.ORG"];
    await send({ ...mail, to: odd });
    const [one] = taken;
    expect(one?.recipients).toEqual(odd);
    expect(
      headerOf(one?.source ?? "", "To")
        ?.replace(/"/g, "")
        .toLowerCase(),
    ).toBe(odd.join(", ").toLowerCase());
  });
});

describe("the schema refuses before anybody is asked", () => {
  test.each<[string, unknown]>([
    ["a CRLF in the address", "a@x.example\r\nBcc: e@y.example"],
    ["an object in place of an address", { address: "a@x.example\r\nBcc: e@y.example" }],
    ["an object with a name", { name: "Anna", address: "a@x.example" }],
    ["a display name", "Anna <a@x.example>"],
    ["a list in one entry", "a@x.example, e@y.example"],
    ["a list in an entry", [["a@x.example"]]],
    ["a group", "g: a@x.example;"],
    ["a look-alike letter", "\u0430@x.example"],
    ["nothing", null],
  ])("KN32: %s, in every recipient field", (_what, recipient) => {
    for (const field of ["to", "cc", "bcc"]) {
      expect(tool.schema.safeParse({ ...mail, [field]: ["good@example.org", recipient] }).success).toBe(false);
      expect(tool.schema.safeParse({ ...mail, [field]: recipient }).success).toBe(false);
    }
    expect(tool.schema.safeParse({ ...mail, replyTo: recipient ?? [] }).success).toBe(false);
  });

  test.each<[string, Arguments]>([
    ["no recipient", { to: [] }],
    ["only blind recipients", { to: undefined, bcc: ["a@example.org"] }],
    ["more than 50 recipients over all fields", { bcc: Array.from({ length: 50 }, (_, at) => `n${at}@example.org`) }],
    ["a line break in the subject", { subject: "x\r\nBcc: e@evil.example" }],
    ["a control character in the subject", { subject: "x\u0007" }],
    ["a line separator in the subject", { subject: "x\u2028y" }],
    ["a NUL in the text", { text: "x\0" }],
    ["an escape sequence in the text", { text: "x\u001b[2J" }],
    ["half a surrogate pair", { text: "x\ud800" }],
    ["HTML", { html: "<p>x</p>" }],
    ["attachments", { attachments: [{ path: "/etc/passwd" }] }],
    ["a text from a file", { text: { path: "/etc/passwd" } }],
    ["headers", { headers: { Bcc: "e@evil.example" } }],
    ["an envelope", { envelope: { to: "e@evil.example" } }],
    ["a sender", { from: "ceo@example.com" }],
    ["a raw message", { raw: "x" }],
  ])("%s", (_what, change) => {
    expect(tool.schema.safeParse({ ...mail, ...change }).success).toBe(false);
  });
});

describe("the card", () => {
  test("lists the exact envelope, from the arguments alone", () => {
    const lines = tool.details?.({
      ...mail,
      cc: ["c@example.org"],
      bcc: ["d@example.org"],
      replyTo: "r@example.com",
    });
    expect(lines).toEqual([
      "To: a@example.org",
      "Cc: c@example.org",
      "Bcc: d@example.org",
      "Reply-To: r@example.com",
      "From: the address in the workspace's secret of mail.send",
      "Subject: Hello",
      "Text: 8 characters",
      expect.stringMatching(/^Message: sha256 [0-9a-f]{64}, without the values of From, Date and Message-ID$/),
    ]);
    expect(tool.units?.({ ...mail, cc: ["a@example.org"], bcc: ["d@example.org"] })).toEqual([
      "a@example.org",
      "d@example.org",
    ]);
  });

  test("is always asked for: an outbound act of high risk that needs a credential", () => {
    expect(tool).toMatchObject({
      effect: "once",
      requires: ["mail.send"],
      needsApproval: true,
      tier: "exec",
      risk: "high",
    });
  });
});

describe("a failure tells what to do and no secret", () => {
  test("KN23: a refused login, by a server that repeats what it was given", async () => {
    const result = await send(mail, { ...settings, pass: "wrong/+pass" });
    expect(result).toMatchObject({ kind: "failed", code: "error" });
    expect(result.content).toContain(
      `mail not sent (login_refused): the mail server refused the login, 127.0.0.1:${port} (SMTP 535`,
    );
    for (const leak of ["wrong", "agent ", "Invalid login", Buffer.from("\0agent\0wrong/+pass").toString("base64")]) {
      expect(result.content).not.toContain(leak);
    }
    expect(taken).toEqual([]);
  });

  test("KN23: a server that quotes the password in every answer is not quoted", async () => {
    for (const at of ["AUTH", "MAIL", "RCPT", "DATA", "end"]) {
      const echo = await startScriptedSmtp({ answers: { [at]: "550 5.7.1 you said pass/+word" } });
      const result = await send(mail, { ...settings, port: echo.port });
      await echo.close();
      expect(result.kind).toBe("failed");
      expect(result.content).toMatch(/\(SMTP 550 5\.7\.1\)\. Nobody received it\.$/);
      expect(result.content).not.toContain("pass");
    }
  });

  test("KN33: a drop after the message is unknown and names what to look for", async () => {
    const dropping = await startScriptedSmtp({ answers: { end: "drop" } });
    const result = await send(mail, { ...settings, port: dropping.port });
    await dropping.close();
    expect(result.kind).toBe("unknown");
    expect(result.content).toContain(`Message-ID <${idempotencyKey}@example.com>`);
    expect(dropping.received().match(/Subject: Hello/g)).toHaveLength(1);
  });

  test("a temporary refusal is called so", async () => {
    const busy = await startScriptedSmtp({ answers: { RCPT: "451 4.3.0 later" } });
    const result = await send(mail, { ...settings, port: busy.port });
    await busy.close();
    expect(result).toMatchObject({
      kind: "failed",
      content: expect.stringMatching(/SMTP 451 4\.3\.0\)\. Nobody received it\. The refusal is temporary\.$/),
    });
  });

  test("a mail taken for some recipients says for whom, and whom the server refused", async () => {
    const picky = await startScriptedSmtp({
      answers: { "RCPT TO:<b@example.org>": "550 5.1.1 who" },
    });
    const result = await send({ ...mail, to: ["a@example.org", "b@example.org"] }, { ...settings, port: picky.port });
    await picky.close();
    expect(result.kind).toBe("done");
    expect(result.content.split("\n").slice(0, 2)).toEqual([
      `mail accepted by 127.0.0.1:${picky.port} for a@example.org`,
      "refused for b@example.org (SMTP 550 5.1.1)",
    ]);
  });

  test.each<[string, unknown, string]>([
    ["not JSON", "pass/+word is the password", "the JSON itself"],
    ["a list", "[1,2,3,4,5]", "the JSON itself"],
    ["no host", { ...settings, host: undefined }, "host"],
    ["a host with a command", { ...settings, host: "x\r\nRSET" }, "host"],
    ["a port as text and a sender with a name", { ...settings, port: "25", from: "A <a@b.co>" }, "port, from"],
    ["a user without a password", { ...settings, pass: undefined }, "pass (needed with user)"],
  ])("settings that are %s are named by field, never quoted", async (_what, secret, fields) => {
    const result = await send(mail, secret);
    expect(result).toMatchObject({ kind: "failed", code: "error" });
    expect(result.content).toContain(`not usable: ${fields}. `);
    expect(result.content).not.toContain("pass/+word");
    expect(result.content).not.toContain("RSET");
  });
});

function decodeQuotedPrintable(body: string): string {
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
