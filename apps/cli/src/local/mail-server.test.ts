import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type ReceivedMail, startMailServer } from "./mail-server.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-mail-"));
const settingsFile = join(folder, "mail-server.json");
const mailDir = join(folder, "mail");
afterAll(() => rmSync(folder, { recursive: true }));

/** What the server says to these lines, each sent after an answer to the one before. */
async function talk(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const left = [...lines];
  let heard = "";
  for await (const chunk of socket) {
    heard += String(chunk);
    // The last line of an answer has no dash after its number.
    if (!/^\d{3} [^\n]*\n$/m.test(heard)) continue;
    const line = left.shift();
    if (line === undefined) break;
    socket.write(`${line}\r\n`);
  }
  return heard;
}

function login(user: string, pass: string): string {
  return `AUTH PLAIN ${Buffer.from(`\0${user}\0${pass}`).toString("base64")}`;
}

const message = ["MAIL FROM:<a@b.example>", "RCPT TO:<c@d.example>", "DATA", "Subject: hello\r\n\r\ntext\r\n.", "QUIT"];

test("mail is taken with the password only, kept before it is confirmed, and told of", async () => {
  const received: ReceivedMail[] = [];
  const server = await startMailServer(settingsFile, mailDir, (mail) => received.push(mail));
  const { port, user, pass } = server.settings;
  try {
    expect(await talk(port, ["EHLO x", ...message])).toMatch(/^530 /m);
    expect(await talk(port, ["EHLO x", login(user, "wrong"), ...message])).toMatch(/^535 /m);
    expect(received).toEqual([]);
    await talk(port, ["EHLO x", login(user, pass), ...message]);
    expect(received).toMatchObject([{ to: ["c@d.example"], subject: "hello" }]);
    expect(readFileSync(received[0]?.file ?? "", "utf8")).toContain("Subject: hello");
  } finally {
    await server.close();
  }
});

test("it comes back with the same port and password, and elsewhere where its port is taken", async () => {
  const first = await startMailServer(settingsFile, mailDir, () => undefined);
  const second = await startMailServer(settingsFile, mailDir, () => undefined);
  expect(second.settings.port).not.toBe(first.settings.port);
  expect(second.settings.pass).toBe(first.settings.pass);
  await Promise.all([first.close(), second.close()]);
  const third = await startMailServer(settingsFile, mailDir, () => undefined);
  expect(third.settings).toEqual(second.settings);
  await third.close();
});
