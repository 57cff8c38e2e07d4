import { createServer, connect as openSocket, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** Where a process is to be struck: at the `nth` call, from when the trap is set, of one SQL function. */
export interface Trap {
  readonly function: string;
  readonly nth: number;
  /** `before`: the server never sees the call. `after`: it has committed, and its reply never arrives. */
  readonly when: "before" | "after";
}

export interface WireProxy {
  /** The database's address with the proxy in between. */
  readonly url: string;
  /** Resolves when the trap is sprung: from then on its connection carries nothing more. */
  spring(trap: Trap): Promise<void>;
  close(): Promise<void>;
}

/**
 * A proxy that speaks enough of the Postgres protocol to see which SQL function a message calls and when its
 * transaction has ended. Calls that answer no row (a claim that finds nothing) do not count.
 */
export async function startWireProxy(databaseUrl: string): Promise<WireProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let armed: { trap: Trap; left: number; sprung: () => void } | undefined;

  const server = createServer((client) => {
    const upstream = openSocket({ host: target.hostname, port: Number(target.port) });
    const statements = new Map<string, string>();
    const underWay: { name: string | undefined; rows: number }[] = [];
    let bound: string | undefined;
    let isCut = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Messages are passed on one by one: waiting to fill a packet would slow every commit to a crawl.
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }

    const strike = (name: string | undefined, when: Trap["when"]): boolean => {
      if (armed?.trap.when !== when || armed.trap.function !== name) return false;
      armed.left -= 1;
      if (armed.left > 0) return false;
      isCut = true;
      armed.sprung();
      armed = undefined;
      return true;
    };

    const fromClient = splitMessages(true, (type, body, raw) => {
      if (isCut) return;
      if (type === "P") {
        const [name = "", query = ""] = body.toString("utf8").split("\0");
        statements.set(name, query);
      }
      if (type === "B") bound = calledFunction(statements.get(body.toString("utf8").split("\0")[1] ?? ""));
      if (type === "B" && strike(bound, "before")) return;
      if (type === "S" || type === "Q") {
        underWay.push({ name: bound, rows: 0 });
        bound = undefined;
      }
      upstream.write(raw);
    });

    const fromServer = splitMessages(false, (type, _body, raw) => {
      if (isCut) return;
      const current = underWay[0];
      if (type === "D" && current !== undefined) current.rows += 1;
      if (type === "Z") {
        underWay.shift();
        if (current !== undefined && current.rows > 0 && strike(current.name, "after")) return;
      }
      client.write(raw);
    });

    client.on("data", fromClient);
    upstream.on("data", fromServer);
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    spring: (trap) =>
      new Promise((sprung) => {
        armed = { trap, left: trap.nth, sprung };
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function calledFunction(query: string | undefined): string | undefined {
  return /\bfrom (\w+)\(/.exec(query ?? "")?.[1];
}

/** Cuts a stream into protocol messages; the client's first one has a length but no type. */
function splitMessages(
  hasStartup: boolean,
  take: (type: string, body: Buffer, raw: Buffer) => void,
): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStartup = hasStartup;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isStartup ? 4 : 5;
      if (rest.length < head) return;
      const size = rest.readInt32BE(head - 4) + head - 4;
      if (rest.length < size) return;
      const raw = rest.subarray(0, size);
      rest = rest.subarray(size);
      take(isStartup ? "" : String.fromCharCode(raw[0] ?? 0), raw.subarray(head), raw);
      isStartup = false;
    }
  };
}
