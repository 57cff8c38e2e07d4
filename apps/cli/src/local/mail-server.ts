import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { z } from "zod";
import { readPrivate, writePrivate } from "./private-file.ts";

/** Who may hand in mail, and where; kept, so that the sealed secret stays right from start to start. */
const settingsSchema = z.object({ port: z.int(), user: z.string(), pass: z.string().min(16) });

export type MailServerSettings = z.infer<typeof settingsSchema>;

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly subject: string;
  /** Where it is kept. */
  readonly file: string;
}

export interface MailServer {
  readonly settings: MailServerSettings;
  close(): Promise<void>;
}

const host = "127.0.0.1";
const largestMail = 25 * 1024 * 1024;

/**
 * A mail server on this machine's loopback that takes mail from whoever has its password, and delivers none: each is kept
 * in `mailDir` before it is confirmed. It takes the port that it had before, another where that is taken.
 */
export async function startMailServer(
  settingsFile: string,
  mailDir: string,
  onMail: (mail: ReceivedMail) => void,
): Promise<MailServer> {
  mkdirSync(mailDir, { recursive: true });
  const kept = readPrivate(settingsFile, settingsSchema);
  const { user, pass } = kept ?? { user: "library", pass: randomBytes(24).toString("base64url") };

  const server = new SMTPServer({
    authMethods: ["PLAIN", "LOGIN"],
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    size: largestMail,
    closeTimeout: 1_000,
    onAuth(given, _session, done) {
      const isRight = isSame(given.username ?? "", user) && isSame(given.password ?? "", pass);
      if (isRight) done(null, { user });
      else done(new Error("wrong user or password"));
    },
    onData(stream, session, done) {
      const to = session.envelope.rcptTo.map((recipient) => recipient.address);
      keep(stream, to).then(
        (mail) => {
          done();
          onMail(mail);
        },
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
    },
  });
  // A client that goes away in the middle is its own trouble.
  server.on("error", () => undefined);

  async function keep(stream: NodeJS.ReadableStream, to: readonly string[]): Promise<ReceivedMail> {
    const raw = await buffer(stream);
    const name = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(3).toString("hex")}.eml`;
    const file = join(mailDir, name);
    writeFileSync(`${file}.part`, raw, { flag: "wx" });
    renameSync(`${file}.part`, file);
    const { subject } = await PostalMime.parse(raw);
    return { to, subject: subject ?? "(no subject)", file };
  }

  const port = (await listen(server, kept?.port ?? 0)) ?? (await listen(server, 0));
  if (port === undefined) throw new Error(`No port is free on ${host} for the mail server`);
  const settings = { port, user, pass };
  if (port !== kept?.port) writePrivate(settingsFile, settings);
  return {
    settings,
    close: () => new Promise((done) => server.close(() => done())),
  };
}

async function listen(server: SMTPServer, port: number): Promise<number | undefined> {
  const listener = server.server;
  listener.listen(port, host);
  try {
    await once(listener, "listening");
    return (listener.address() as AddressInfo).port;
  } catch {
    return undefined;
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
