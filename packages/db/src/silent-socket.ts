import { Socket } from "node:net";

/** The part of the driver's settings that says where the database is. */
interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false | undefined;
}

/**
 * Makes the sockets of one client, each of which closes when nothing came or went for so long. Where a firewall or a
 * failover has forgotten a connection, nothing else says so before TCP gives up, a quarter of an hour later. Also an unused
 * connection is closed by it; the next statement opens another.
 */
export function silentSockets(silentMs: number): (address: Address) => Socket {
  let next = 0;
  return ({ host, port, path }) => {
    const socket = new Socket();
    const emit = socket.emit.bind(socket);
    // Not a listener: the driver (postgres.js 3.4.9) takes all of them off where TLS begins. And closed, not failed: what is
    // sent between a failure and the close that follows would never be answered.
    socket.emit = (event: string | symbol, ...args: unknown[]) => {
      if (event === "timeout") socket.destroy();
      return emit(event, ...args);
    };
    socket.setTimeout(silentMs);
    if (typeof path === "string") return socket.connect(path);
    const index = next % host.length;
    next += 1;
    // Where TLS begins the driver asks the socket for the name that the certificate is to have.
    Object.assign(socket, { host: host[index] });
    return socket.connect(port[index] ?? 5432, host[index] ?? "localhost");
  };
}
