import { connect, createServer, type Socket } from "node:net";

/** A way to a server that can go silent, as a firewall that forgot a connection does: nothing is closed, nothing arrives. */
export interface TcpProxy {
  /** The address of the database through the proxy. */
  readonly url: string;
  /** From now on the connections of now, or all of them, carry nothing more in either direction. */
  swallow(what: "present" | "all"): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of this machine to the database at `url`. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let isAllSilent = false;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => {
        if (!isAllSilent && !silent.has(from)) to.write(bytes);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        sockets.delete(from);
        if (!isAllSilent && !silent.has(from)) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port");
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String(address.port);
  return {
    url: through.href,
    swallow(what) {
      if (what === "all") isAllSilent = true;
      else for (const socket of sockets) silent.add(socket);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
