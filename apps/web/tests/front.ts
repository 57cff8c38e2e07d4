import { once } from "node:events";
import { createServer, request as ask, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";

/** An address that stays while the server behind it is replaced. */
export interface Front {
  readonly url: string;
  /** From now on whoever comes is led there; who was connected before is cut off. */
  leadTo(url: string): void;
  /** From now on nobody is led anywhere. */
  leadNowhere(): void;
  /** Streams of events that are open now look alive from then on, and nothing comes through; all else is cut off. */
  freezeStreams(): void;
  stop(): Promise<void>;
}

/** Starts an address in front of a server. */
export async function startFront(url: string): Promise<Front> {
  const sockets = new Set<Socket>();
  /** What is between the two ends of a connection that carries a stream, by either end. */
  const streams = new Map<Socket, Socket>();
  let target: URL | undefined = new URL(url);
  const server = createTcpServer((client) => {
    if (target === undefined) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        streams.delete(from);
        to.destroy();
      });
    }
    upstream.on("data", (part: Buffer) => {
      if (part.includes("text/event-stream")) streams.set(client, upstream).set(upstream, client);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(next) {
      target = new URL(next);
      cut();
    },
    leadNowhere() {
      target = undefined;
      cut();
    },
    freezeStreams() {
      for (const socket of sockets) {
        if (streams.has(socket)) socket.unpipe().pause();
        else socket.destroy();
      }
    },
    async stop() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** A proxy that keeps every answer back until it is complete, so that of a stream nothing ever comes. */
export async function startHoldingProxy(url: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const upstream = ask(new URL(incoming.url ?? "/", url), { method: incoming.method, headers: incoming.headers });
    upstream.on("response", (answer: IncomingMessage) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.end(Buffer.concat(parts));
      });
    });
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
