import { createServer, type AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { deliverMail, type DeliveryOutcome, type DeliveryTimeouts } from "./mail-delivery.ts";
import type { SmtpSettings } from "./mail-settings.ts";
import { startScriptedSmtp, type ScriptedSmtp, type SmtpScript } from "./testing/scripted-smtp.ts";

const timeouts: DeliveryTimeouts = { connectMs: 2_000, greetingMs: 300, silenceMs: 300 };
const delivery = {
  from: "agent@example.com",
  recipients: ["a@example.org", "b@example.org"],
  message: Buffer.from("Subject: x\r\n\r\nhello\r\n"),
};
const never = new AbortController().signal;

const servers: ScriptedSmtp[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

function settingsFor(port: number, change: Partial<SmtpSettings> = {}): SmtpSettings {
  return {
    host: "127.0.0.1",
    port,
    secure: false,
    login: { user: "u", pass: "p" },
    from: delivery.from,
    imap: undefined,
    ...change,
  };
}

async function deliverTo(
  script: SmtpScript,
  signal: AbortSignal = never,
): Promise<{ outcome: DeliveryOutcome; received: string }> {
  const server = await startScriptedSmtp(script);
  servers.push(server);
  const outcome = await deliverMail(settingsFor(server.port), delivery, signal, timeouts);
  return { outcome, received: server.received() };
}

const pipelined = { EHLO: "250-scripted\r\n250-PIPELINING\r\n250 AUTH PLAIN" };

describe.each([
  ["takes one command at a time", {}],
  ["takes them pipelined", pipelined],
])("a server that %s", (_how, base) => {
  test.each<[string, SmtpScript["answers"], object]>([
    [
      "the login is refused",
      { AUTH: "535 5.7.8 bad u p" },
      { fault: "login_refused", status: { reply: 535, enhanced: "5.7.8" } },
    ],
    [
      "the sender is refused",
      { MAIL: "550 5.7.1 no" },
      { fault: "sender_refused", status: { reply: 550, enhanced: "5.7.1" } },
    ],
    [
      "every recipient is refused",
      { RCPT: "550 5.1.1 no" },
      { fault: "recipients_refused", status: { reply: 550, enhanced: "5.1.1" } },
    ],
    [
      "the server is busy",
      { RCPT: "451 4.3.0 later" },
      { fault: "recipients_refused", status: { reply: 451, enhanced: "4.3.0" } },
    ],
    ["DATA is refused", { DATA: "554 no" }, { fault: "message_refused", status: { reply: 554, enhanced: undefined } }],
    [
      "the server closes with 421",
      { MAIL: "421 4.3.2 closing" },
      { fault: "sender_refused", status: { reply: 421, enhanced: "4.3.2" } },
    ],
    ["the connection drops at EHLO", { EHLO: "drop" }, { fault: "unreachable" }],
    ["the connection drops at AUTH", { AUTH: "drop" }, { fault: "unreachable" }],
    ["the connection drops at MAIL", { MAIL: "drop" }, { fault: "unreachable" }],
    ["the connection drops at RCPT", { RCPT: "drop" }, { fault: "unreachable" }],
    ["the connection drops at DATA", { DATA: "drop" }, { fault: "unreachable" }],
    ["the server falls silent at AUTH", { AUTH: "silence" }, { fault: "timeout" }],
    ["the server falls silent at RCPT", { RCPT: "silence" }, { fault: "timeout" }],
    ["the server falls silent at DATA", { DATA: "silence" }, { fault: "timeout" }],
  ])("has sent nothing when, before it asks for the message, %s", async (_what, answers, expected) => {
    const { outcome, received } = await deliverTo({ answers: { ...base, ...answers } });
    expect(outcome).toMatchObject({ kind: "not_sent", ...expected });
    expect(received).not.toContain("hello");
  });

  test.each<[string, SmtpScript["answers"], DeliveryOutcome]>([
    ["a drop", { end: "drop" }, { kind: "unknown", fault: "unreachable" }],
    ["silence", { end: "silence" }, { kind: "unknown", fault: "timeout" }],
    ["nonsense", { end: "hello?" }, { kind: "unknown", fault: "bad_answer" }],
    ["asking for it again", { end: "354 go ahead" }, { kind: "unknown", fault: "bad_answer" }],
  ])("KN33: after the message, %s instead of an answer leaves it unknown", async (_what, answers, expected) => {
    const { outcome, received } = await deliverTo({ answers: { ...base, ...answers } });
    expect(received).toContain("hello");
    expect(outcome).toEqual(expected);
  });

  test.each([
    ["554 5.6.0 spam", { reply: 554, enhanced: "5.6.0" }],
    ["452 4.2.2 full", { reply: 452, enhanced: "4.2.2" }],
    ["421 4.3.2 closing", { reply: 421, enhanced: "4.3.2" }],
  ])("a refusal of the whole message (%s) is not sent, since the server said so", async (end, status) => {
    const { outcome } = await deliverTo({ answers: { ...base, end } });
    expect(outcome).toEqual({ kind: "not_sent", fault: "message_refused", status });
  });

  test("a refused recipient is named with the server's numbers while the others are served", async () => {
    const { outcome } = await deliverTo({
      answers: { ...base, "RCPT TO:<b@example.org>": "550 5.1.1 who" },
    });
    const refused = [{ address: "b@example.org", status: { reply: 550, enhanced: "5.1.1" } }];
    expect(outcome).toEqual({ kind: "taken", refused });
  });

  test("a server that takes the message and drops at QUIT has taken it", async () => {
    const { outcome } = await deliverTo({ answers: { ...base, QUIT: "drop" } });
    expect(outcome).toEqual({ kind: "taken", refused: [] });
  });
});

describe("a server that is not there or not SMTP", () => {
  test("refusing the connection is unreachable", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await deliverMail(settingsFor(port), delivery, never, timeouts)).toMatchObject({
      kind: "not_sent",
      fault: "unreachable",
    });
  });

  test.each<[string, string, object]>([
    ["silence", "silence", { fault: "timeout" }],
    ["a drop", "drop", { fault: "unreachable" }],
    ["another protocol", "HTTP/1.1 400 Bad Request", { fault: "bad_answer" }],
    ["a refusal", "554 5.7.1 go away", { fault: "session_refused", status: { reply: 554, enhanced: "5.7.1" } }],
  ])("%s instead of a greeting is not sent", async (_what, greeting, expected) => {
    const { outcome } = await deliverTo({ greeting });
    expect(outcome).toMatchObject({ kind: "not_sent", ...expected });
  });
});

describe("an abort", () => {
  test("before the start does not even connect", async () => {
    const { outcome, received } = await deliverTo({}, AbortSignal.abort());
    expect(outcome).toMatchObject({ kind: "not_sent", fault: "aborted" });
    expect(received).toBe("");
  });

  test("while the server is silent at RCPT is not sent, after the message it is unknown", async () => {
    const early = await deliverTo({ answers: { RCPT: "silence" } }, AbortSignal.timeout(100));
    expect(early.outcome).toMatchObject({ kind: "not_sent", fault: "aborted" });
    const late = await deliverTo({ answers: { end: "silence" } }, AbortSignal.timeout(100));
    expect(late.outcome).toEqual({ kind: "unknown", fault: "aborted" });
  });
});

describe("a password", () => {
  test("is not sent to another machine that has no TLS", async () => {
    const server = await startScriptedSmtp();
    servers.push(server);
    // Every address of 127/8 is this machine; written like this it does not look so.
    const outcome = await deliverMail(settingsFor(server.port, { host: "127.1" }), delivery, never, timeouts);
    expect(outcome).toMatchObject({ kind: "not_sent", fault: "tls_failed" });
    expect(server.received()).toContain("STARTTLS");
    expect(server.received()).not.toContain("AUTH");
  });

  test("is not sent over TLS that nobody vouches for", async () => {
    const { SMTPServer } = await import("smtp-server");
    let hasSeenLogin = false;
    const server = new SMTPServer({
      secure: true,
      logger: false,
      onAuth(_auth, _session, done) {
        hasSeenLogin = true;
        done(null, { user: "u" });
      },
    });
    server.on("error", () => {});
    const listening = server.listen(0, "127.0.0.1");
    await new Promise((resolve) => listening.once("listening", resolve));
    const { port } = listening.address() as AddressInfo;
    const outcome = await deliverMail(settingsFor(port, { secure: true }), delivery, never, timeouts);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    expect(outcome).toMatchObject({ kind: "not_sent", fault: "tls_failed" });
    expect(hasSeenLogin).toBe(false);
  });
});

test("STARTTLS is used wherever another machine offers it, and left aside on this one", async () => {
  for (const [host, isUsed] of [
    ["127.1", true],
    ["127.0.0.1", false],
  ] as const) {
    const server = await startScriptedSmtp({ answers: { EHLO: "250-scripted\r\n250 STARTTLS" } });
    servers.push(server);
    const outcome = await deliverMail(settingsFor(server.port, { host, login: undefined }), delivery, never, timeouts);
    expect(outcome.kind).toBe(isUsed ? "not_sent" : "taken");
    expect(server.received().includes("STARTTLS")).toBe(isUsed);
  }
});
