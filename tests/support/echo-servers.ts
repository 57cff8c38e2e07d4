import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { formsOf } from "./canary-oracle.ts";

export interface EchoServer {
  readonly port: number;
  /** All that was sent to it. */
  received(): string;
  close(): Promise<void>;
}

/** Where an SMTP server breaks off, quoting what it knows. `silent` never greets; `dropped` goes away over the message. */
export type SmtpFailure = "greeting" | "AUTH" | "MAIL" | "RCPT" | "DATA" | "end" | "dropped" | "silent" | "none";

/** An SMTP server that quotes every command and the password, in every form, in whatever it answers. */
export async function startEchoSmtp(failure: SmtpFailure, password: string): Promise<EchoServer> {
  const quoted = [...formsOf(password).values()].map((form) => form.replaceAll(/\r|\n/g, " "));
  const usual: Readonly<Record<string, number>> = { AUTH: 235, DATA: 354, QUIT: 221 };
  return await startTcp((socket, send, onLine) => {
    const answer = (code: number, line: string): void => {
      for (const form of quoted) send(`${code}-5.7.8 ${form}`);
      send(`${code} 5.7.8 you said ${line}`);
    };
    if (failure === "silent") return;
    if (failure === "greeting") return answer(554, "nothing");
    send("220 echo");
    let isInMessage = false;
    onLine((line) => {
      if (isInMessage && line !== ".") return;
      const command = isInMessage ? "end" : (line.split(/[ :]/)[0] ?? "").toUpperCase();
      if (command === "end" && failure === "dropped") return void socket.destroy();
      if (command === "EHLO") {
        send("250-echo");
        return send("250 AUTH PLAIN LOGIN");
      }
      isInMessage = command === "DATA" && failure !== "DATA";
      answer(command === failure ? 554 : (usual[command] ?? 250), line);
    });
  });
}

/** An IMAP server that refuses every command, quoting it and the password. */
export async function startEchoImap(password: string): Promise<EchoServer> {
  return await startTcp((_socket, send, onLine) => {
    send("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] echo");
    onLine((line) => {
      const tag = line.split(" ")[0] ?? "*";
      if (line.includes("CAPABILITY")) {
        send("* CAPABILITY IMAP4rev1 AUTH=PLAIN");
        return send(`${tag} OK done`);
      }
      send(`${tag} NO [AUTHENTICATIONFAILED] ${line} ${JSON.stringify(password)}`);
    });
  });
}

async function startTcp(
  serve: (socket: Socket, send: (line: string) => void, onLine: (take: (line: string) => void) => void) => void,
): Promise<EchoServer> {
  let received = "";
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let take: (line: string) => void = () => undefined;
    let pending = "";
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      pending += chunk.toString("utf8");
      const lines = pending.split("\r\n");
      pending = lines.pop() ?? "";
      for (const line of lines) take(line);
    });
    serve(
      socket,
      (line) => void (socket.writable && socket.write(`${line}\r\n`)),
      (given) => (take = given),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** How the HTTP server answers, by the last part of the path. */
export const httpFailures = ["echo", "failed", "500", "400", "no-json", "dropped", "silent", "redirect"] as const;

/** An HTTP server that answers with its caller's headers and with the secret that signs its calls. */
export async function startEchoHttp(secret: string): Promise<EchoServer> {
  let received = "";
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const said = `${JSON.stringify(request.headers)} ${Buffer.concat(chunks).toString("utf8")}`;
      received += said;
      const echo = [said, ...formsOf(secret).values()].join("\n");
      switch (request.url?.slice(1)) {
        case "echo":
          return response.end(JSON.stringify({ kind: "done", content: echo }));
        case "failed":
          return response.end(JSON.stringify({ kind: "failed", content: echo }));
        case "dropped":
          return void response.destroy();
        case "silent":
          return undefined;
        case "redirect":
          return response.writeHead(302, { location: `/echo?${encodeURIComponent(secret)}` }).end(echo);
        case "no-json":
          return response.end(echo);
        default:
          return response.writeHead(Number(request.url?.slice(1))).end(echo);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
