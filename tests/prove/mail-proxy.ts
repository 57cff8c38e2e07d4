import { type AddressInfo, connect as openSocket, createServer, type Socket } from "node:net";
import { createTap, type Tap } from "./tap.ts";

/** A way to a mail server on which every stage of a delivery is a point where the sender can be struck. */
export interface MailProxy extends Tap {
  readonly port: number;
  close(): Promise<void>;
}

/** The connection itself, each command, and the message as a whole are one stage each. */
export async function startMailProxy(port: number): Promise<MailProxy> {
  const sockets = new Set<Socket>();
  const tap = createTap();

  const server = createServer((client) => {
    const { strikeBefore, strikeAfter } = tap.pass("connect");
    if (strikeBefore !== undefined) return strikeBefore();
    const upstream = openSocket({ host: "127.0.0.1", port });
    let onAnswer = strikeAfter;
    let isCut = strikeAfter !== undefined;
    let isMessage = false;
    let held = "";
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }

    client.on("data", (chunk) => {
      held += chunk.toString("latin1");
      for (;;) {
        const end = isMessage ? held.indexOf("\r\n.\r\n") + 5 : held.indexOf("\r\n") + 2;
        if (isCut || end < (isMessage ? 5 : 2)) return;
        const stage = held.slice(0, end);
        held = held.slice(end);
        const name = isMessage ? "message" : (/^\w+/.exec(stage)?.[0] ?? "");
        isMessage = name === "DATA";
        const struck = tap.pass(name);
        if (struck.strikeBefore !== undefined) {
          isCut = true;
          return struck.strikeBefore();
        }
        isCut = struck.strikeAfter !== undefined;
        onAnswer = struck.strikeAfter;
        upstream.write(Buffer.from(stage, "latin1"));
      }
    });
    upstream.on("data", (chunk) => {
      if (onAnswer === undefined) client.write(chunk);
      // The last line of an answer has no dash behind its number.
      else if (/^\d{3} .*\r\n$/m.test(chunk.toString("latin1"))) onAnswer();
    });
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...tap,
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
