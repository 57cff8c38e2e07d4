import { createServer, type AddressInfo, type Socket } from "node:net";

/**
 * Answers of a server by whole line or first word of the command; `end` is for the dot that ends the
 * message. The texts `silence` and `drop` are not sent but done.
 */
export interface SmtpScript {
  readonly greeting?: string;
  readonly answers?: Readonly<Record<string, string>>;
}

export interface ScriptedSmtp {
  readonly port: number;
  /** Everything that clients sent, in order. */
  received(): string;
  close(): Promise<void>;
}

const usual: Record<string, string> = {
  EHLO: "250-scripted\r\n250 AUTH PLAIN",
  AUTH: "235 ok",
  MAIL: "250 ok",
  RCPT: "250 ok",
  DATA: "354 go ahead",
  end: "250 taken",
  QUIT: "221 bye",
};

/** An SMTP server on loopback that answers what the script says, falls silent, or drops the connection. */
export async function startScriptedSmtp(script: SmtpScript = {}): Promise<ScriptedSmtp> {
  let received = "";
  const sockets = new Set<Socket>();
  const answers: Record<string, string> = { ...usual, ...script.answers };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    answer(socket, script.greeting ?? "220 scripted");
    let pending = "";
    let isInMessage = false;
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      pending += chunk.toString("latin1");
      for (let end = pending.indexOf("\r\n"); end >= 0; end = pending.indexOf("\r\n")) {
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        if (isInMessage && line !== ".") continue;
        const command = isInMessage ? "end" : (line.split(/[ :]/)[0] ?? "").toUpperCase();
        const text = answers[line] ?? answers[command] ?? "500 what";
        isInMessage = command === "DATA" && text.startsWith("3");
        answer(socket, text);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    received: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function answer(socket: Socket, text: string): void {
  if (text === "silence") return;
  if (text === "drop") socket.destroy();
  else socket.write(`${text}\r\n`);
}
