import { createServer, type AddressInfo, type Socket } from "node:net";

export interface SmallImap {
  readonly port: number;
  /** Puts a message with this Message-ID into the folder of sent mails. */
  addSent(messageId: string): void;
  /** Everything that clients sent, in order. */
  received(): string;
  close(): Promise<void>;
}

export interface SmallImapOptions {
  readonly user?: string;
  readonly pass?: string;
  /** The folder that is marked as holding what was sent; undefined for none. */
  readonly sentFolder?: string | undefined;
  /** Falls silent instead of answering this command. */
  readonly silentAt?: string;
}

/** An IMAP server on loopback with as much of RFC 3501 and 6154 as looking into a folder takes. */
export async function startSmallImap(options: SmallImapOptions = {}): Promise<SmallImap> {
  const { user = "agent", pass = "pass/+word" } = options;
  const sentFolder = "sentFolder" in options ? options.sentFolder : "Sent Items";
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  let received = "";

  function answer(tag: string, command: string, rest: string): string[] {
    switch (command) {
      case "CAPABILITY":
        return ["* CAPABILITY IMAP4rev1 SPECIAL-USE", `${tag} OK done`];
      case "LOGIN":
        return rest === `"${user}" "${pass}"`
          ? [`${tag} OK [CAPABILITY IMAP4rev1 SPECIAL-USE] in`]
          : [`${tag} NO [AUTHENTICATIONFAILED] ${rest} is wrong`];
      case "LIST":
        if (rest === '"" ""') return ['* LIST (\\Noselect) "/" ""', `${tag} OK done`];
        return [
          '* LIST (\\HasNoChildren) "/" INBOX',
          ...(sentFolder === undefined ? [] : [`* LIST (\\HasNoChildren \\Sent) "/" "${sentFolder}"`]),
          '* LIST (\\HasNoChildren) "/" "Other"',
          `${tag} OK done`,
        ];
      case "EXAMINE":
        return [
          `* ${messages.length} EXISTS`,
          "* FLAGS (\\Seen)",
          "* OK [UIDVALIDITY 1] ok",
          `* OK [UIDNEXT ${messages.length + 1}] ok`,
          `${tag} OK [READ-ONLY] done`,
        ];
      case "UID SEARCH": {
        const wanted = /HEADER message-id "?([^"]*?)"?$/i.exec(rest)?.[1] ?? "";
        const hits = messages.flatMap((id, index) => (id.includes(wanted) ? [index + 1] : []));
        return [`* SEARCH ${hits.join(" ")}`.trimEnd(), `${tag} OK done`];
      }
      case "UID FETCH": {
        const uids = (rest.split(" ")[0] ?? "").split(",").flatMap((part) => {
          const [from = 0, to = from] = part.split(":").map(Number);
          return Array.from({ length: to - from + 1 }, (_, n) => from + n);
        });
        const lines = uids.map((uid) => {
          const people = "NIL NIL NIL NIL NIL NIL";
          return `* ${uid} FETCH (UID ${uid} ENVELOPE ("Mon, 30 Nov 2026 12:00:00 +0000" "x" ${people} NIL "${messages[uid - 1]}"))`;
        });
        return [...lines, `${tag} OK done`];
      }
      case "LOGOUT":
        return ["* BYE", `${tag} OK done`];
      default:
        return [`${tag} OK nothing to do`];
    }
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.write("* OK small\r\n");
    let pending = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      pending += chunk.toString("latin1");
      for (let end = pending.indexOf("\r\n"); end >= 0; end = pending.indexOf("\r\n")) {
        const [, tag = "*", command = "", rest = ""] = /^(\S+) ((?:UID )?\S+) ?(.*)$/.exec(pending.slice(0, end)) ?? [];
        pending = pending.slice(end + 2);
        if (command.toUpperCase() === options.silentAt) return;
        for (const line of answer(tag, command.toUpperCase(), rest)) socket.write(`${line}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    addSent: (messageId) => void messages.push(messageId),
    received: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
