import { afterEach, describe, expect, test } from "vitest";
import { findSent } from "./mail-sent.ts";
import { type ImapSettings, parseSmtpSettings } from "./mail-settings.ts";
import { type SmallImap, type SmallImapOptions, startSmallImap } from "./testing/small-imap.ts";

const never = new AbortController().signal;
const messageId = "<one@example.com>";

const servers: SmallImap[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function givenMailbox(options: SmallImapOptions = {}): Promise<{ server: SmallImap; settings: ImapSettings }> {
  const server = await startSmallImap(options);
  servers.push(server);
  const login = { user: "agent", pass: "pass/+word" };
  return { server, settings: { host: "127.0.0.1", port: server.port, secure: false, login, sentFolder: undefined } };
}

describe("looking for a sent mail", () => {
  test("finds it in the folder that the server marks, and changes nothing there", async () => {
    const { server, settings } = await givenMailbox();
    server.addSent("<other@example.com>");
    server.addSent(messageId);
    expect(await findSent(settings, messageId, never)).toEqual({ kind: "found", folder: "Sent Items" });
    expect(server.received()).toContain('EXAMINE "Sent Items"');
    expect(server.received()).not.toMatch(/SELECT|STORE|APPEND|EXPUNGE/);
  });

  test("does not take a longer Message-ID for it", async () => {
    const { server, settings } = await givenMailbox();
    server.addSent(`x${messageId}y`);
    expect(await findSent(settings, messageId, never)).toEqual({ kind: "not_found", folder: "Sent Items" });
  });

  test("looks into the folder it is told, and says where there is none", async () => {
    const named = await givenMailbox();
    named.server.addSent(messageId);
    expect(await findSent({ ...named.settings, sentFolder: "Other" }, messageId, never)).toMatchObject({
      folder: "Other",
    });
    const none = { kind: "unavailable", problem: "no_sent_folder" };
    expect(await findSent({ ...named.settings, sentFolder: "Missing" }, messageId, never)).toEqual(none);
    const { settings } = await givenMailbox({ sentFolder: undefined });
    expect(await findSent(settings, messageId, never)).toEqual(none);
  });

  test("says that the login was refused, in no words of the server's", async () => {
    const { settings } = await givenMailbox({ pass: "another" });
    expect(await findSent(settings, messageId, never)).toEqual({ kind: "unavailable", problem: "login_refused" });
  });

  test("gives up on a server that is not there or falls silent", async () => {
    const gone = await givenMailbox();
    await gone.server.close();
    const unreachable = { kind: "unavailable", problem: "unreachable" };
    expect(await findSent(gone.settings, messageId, never)).toEqual(unreachable);
    const silent = await givenMailbox({ silentAt: "EXAMINE" });
    expect(await findSent(silent.settings, messageId, AbortSignal.timeout(200))).toEqual(unreachable);
    expect(await findSent(silent.settings, messageId, AbortSignal.abort())).toEqual(unreachable);
  });

  test("sends no password to another machine without TLS", async () => {
    const { server, settings } = await givenMailbox();
    // Every address of 127/8 is this machine; written like this it does not look so.
    expect(await findSent({ ...settings, host: "127.1" }, messageId, never)).toMatchObject({ kind: "unavailable" });
    expect(server.received()).not.toContain("LOGIN");
  });
});

describe("the settings of the mailbox", () => {
  const smtp = { host: "smtp.example.com", port: 587, from: "agent@example.com", user: "u", pass: "p-of-smtp" };
  const imapOf = (more: object) => {
    const parsed = parseSmtpSettings(JSON.stringify({ ...smtp, ...more }));
    return parsed.kind === "settings" ? parsed.settings.imap : parsed.fields;
  };

  test("are none unless a host is named", () => {
    expect(imapOf({})).toBeUndefined();
  });

  test("are those of the sender unless they differ", () => {
    const login = { user: "u", pass: "p-of-smtp" };
    const usual = { host: "imap.example.com", port: 993, secure: true, login, sentFolder: undefined };
    expect(imapOf({ imapHost: "imap.example.com" })).toEqual(usual);
    const own = { imapHost: "imap.example.com", imapPort: 143, imapUser: "v", imapPass: "q", sentFolder: "Sent" };
    expect(imapOf(own)).toEqual({
      ...usual,
      port: 143,
      secure: false,
      login: { user: "v", pass: "q" },
      sentFolder: "Sent",
    });
  });

  test("without a login are not usable", () => {
    const fields = ["imapUser and imapPass (needed with imapHost)"];
    expect(imapOf({ imapHost: "imap.example.com", imapUser: "v" })).toEqual(fields);
    expect(imapOf({ imapHost: "imap.example.com", user: undefined, pass: undefined })).toEqual(fields);
  });
});
