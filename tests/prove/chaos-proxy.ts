import { type AddressInfo, connect as openSocket, createServer, type Socket } from "node:net";
import { splitMessages } from "./split-messages.ts";

/** A way to the database on which everything that can go wrong on the way can be made to. */
export interface ChaosProxy {
  readonly url: string;
  /** From now on new connections go to the server at this address. */
  pointAt(databaseUrl: string): void;
  /** Ends every connection of now, whatever is under way on it. */
  cut(): void;
  /** From now on everything takes so much longer; 0 ends that. */
  delay(ms: number): void;
  /** The connections of now carry nothing more, and nobody is ever told. */
  swallow(): void;
  /** Of the next transactions so many are committed and their answer never arrives: the connection ends instead. */
  dropReplies(count: number): void;
  /** How many replies were dropped so far. */
  dropped(): number;
  close(): Promise<void>;
}

/** Starts it on a free port of this machine. The server behind it may go and come back. */
export async function startChaosProxy(databaseUrl: string): Promise<ChaosProxy> {
  let target = new URL(databaseUrl);
  const clients = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let delayMs = 0;
  let toDrop = 0;
  let dropped = 0;

  const server = createServer((client) => {
    const upstream = openSocket({ host: target.hostname, port: Number(target.port) });
    clients.add(client);
    let isChanging = false;
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        clients.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
    const toServer = createLane(upstream);
    const toClient = createLane(client);
    const pass = (lane: (bytes: Buffer, ms: number) => void, bytes: Buffer): void => {
      if (!silent.has(client)) lane(bytes, delayMs);
    };

    const statements = new Map<string, boolean>();
    const watchClient = splitMessages(true, (type, body) => {
      if (type === "P") {
        const [name = "", query = ""] = body.toString("utf8").split("\0");
        statements.set(name, changesRuns(query));
      }
      if (type === "B") isChanging ||= statements.get(body.toString("utf8").split("\0")[1] ?? "") === true;
      if (type === "Q") isChanging ||= changesRuns(body.toString("utf8"));
    });
    client.on("data", (bytes) => {
      watchClient(bytes);
      pass(toServer, bytes);
    });
    upstream.on("data", (bytes) => {
      // A Z that says idle is the end of a transaction; by then it is committed.
      const isCommitted = isChanging && bytes.subarray(-6).equals(readyAndIdle);
      if (isCommitted) isChanging = false;
      if (isCommitted && toDrop > 0) {
        toDrop -= 1;
        dropped += 1;
        client.destroy();
        return;
      }
      pass(toClient, bytes);
    });
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    pointAt(address) {
      target = new URL(address);
    },
    cut() {
      for (const client of clients) client.destroy();
    },
    delay(ms) {
      delayMs = ms;
    },
    swallow() {
      for (const client of clients) silent.add(client);
    },
    dropReplies(count) {
      toDrop = count;
    },
    dropped: () => dropped,
    async close() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes what it is given so much later, and never one before the other. */
function createLane(to: Socket): (bytes: Buffer, delayMs: number) => void {
  const waiting: { readonly bytes: Buffer; readonly at: number }[] = [];
  const pump = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const leftMs = next.at - performance.now();
      if (leftMs > 0) return void setTimeout(pump, leftMs);
      waiting.shift();
      to.write(next.bytes);
    }
  };
  return (bytes, delayMs) => {
    if (waiting.length === 0 && delayMs === 0) return void to.write(bytes);
    waiting.push({ bytes, at: performance.now() + delayMs });
    if (waiting.length === 1) pump();
  };
}

const readyAndIdle = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Commits of the engine, and the end of transactions that hold some. */
function changesRuns(query: string): boolean {
  return /\bfrom (start_run|record_turn|decide_approval|begin_call|complete_call|claim_runs|mark_unknown|release_run)\(|^commit\b/i.test(
    query,
  );
}
