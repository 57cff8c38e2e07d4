import { type AddressInfo, connect as openSocket, createServer, type Socket } from "node:net";
import { splitMessages } from "./split-messages.ts";
import type { Tap } from "./tap.ts";
import { createTap } from "./tap.ts";

/** A way to the database on which every message that a process sends is a point where it can be struck. */
export interface MessageProxy extends Tap {
  readonly url: string;
  close(): Promise<void>;
}

/** Which replies answer a message; those that are not listed are answered by nothing of their own. */
const answeredBy: Readonly<Record<string, string>> = {
  startup: "RE",
  p: "RE",
  P: "1",
  B: "2",
  D: "Tn",
  E: "CsI",
  S: "Z",
  Q: "Z",
};

const flush = Buffer.from([0x48, 0, 0, 0, 4]);

/**
 * A proxy that counts every message of the Postgres protocol which a client sends, on all its connections together.
 * Struck before the n-th, the server never sees it; struck after it, the server has answered it (it is made to, where it
 * would have waited for more) and the answer never arrives.
 */
export async function startMessageProxy(databaseUrl: string): Promise<MessageProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const tap = createTap();

  const server = createServer((client) => {
    const upstream = openSocket({ host: target.hostname, port: Number(target.port) });
    const statements = new Map<string, string>();
    const open: { readonly type: string; readonly strike: (() => void) | undefined }[] = [];
    let current = "";
    let isCut = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }

    function label(type: string, body: Buffer): string {
      if (type === "P") {
        const [name = "", query = ""] = body.toString("utf8").split("\0");
        statements.set(name, nameOf(query));
        current = nameOf(query);
      }
      if (type === "Q") current = nameOf(body.toString("utf8"));
      if (type === "B") current = statements.get(body.toString("utf8").split("\0")[1] ?? "") ?? "";
      return `${type} ${current}`.trim();
    }

    client.on(
      "data",
      splitMessages(true, (rawType, body, raw) => {
        if (isCut) return;
        const type = rawType === "" ? "startup" : rawType;
        const { strikeBefore, strikeAfter } = tap.pass(label(type, body));
        if (strikeBefore !== undefined) {
          isCut = true;
          return strikeBefore();
        }
        upstream.write(raw);
        const isAnswered = type in answeredBy;
        if (isAnswered) open.push({ type, strike: strikeAfter });
        if (strikeAfter === undefined) return;
        // What the client sends behind it is never seen: it is dead by then.
        isCut = true;
        if (!isAnswered) strikeAfter();
        else if ("PBDE".includes(type)) upstream.write(flush);
      }),
    );

    upstream.on(
      "data",
      splitMessages(false, (type, _body, raw) => {
        for (let answered = settle(type); answered !== undefined; answered = settle(type)) {
          if (answered.strike !== undefined) return answered.strike();
          if (type !== "E") break;
        }
        if (!isCut) client.write(raw);
      }),
    );

    /** Takes out the message that this reply answers. An error answers all up to the next Sync. */
    function settle(type: string): { strike: (() => void) | undefined } | undefined {
      const [first] = open;
      if (first === undefined) return undefined;
      const isAnswer = answeredBy[first.type]?.includes(type) === true;
      const isSkipped = type === "E" && !["S", "Q"].includes(first.type);
      return isAnswer || isSkipped ? open.shift() : undefined;
    }
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...tap,
    url: url.href,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a statement is recognised by: the function it calls, or its first words. */
function nameOf(query: string): string {
  return /\bfrom (\w+)\(/.exec(query)?.[1] ?? query.replaceAll("\0", "").trim().split(/\s+/).slice(0, 4).join(" ");
}
