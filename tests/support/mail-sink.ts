import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface MailSink {
  readonly port: number;
  /** The Message-ID of each mail that arrived whole, in order. */
  readonly received: string[];
  /** Called when a mail has arrived whole and before the sender is told: what it returns is waited for. */
  onReceived: (() => Promise<void>) | undefined;
  close(): Promise<void>;
}

/** A real SMTP server on loopback that keeps what it is sent. */
export async function startMailSink(): Promise<MailSink> {
  const received: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onData(stream, _session, callback) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        received.push(/^message-id: *(\S+)/im.exec(Buffer.concat(chunks).toString("utf8"))?.[1] ?? "none");
        void (sink.onReceived?.() ?? Promise.resolve()).then(() => callback());
      });
    },
  });
  // Senders are killed in the middle here; that a connection breaks is no news.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sink: MailSink = {
    port: (server.server.address() as AddressInfo).port,
    received,
    onReceived: undefined,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  return sink;
}
