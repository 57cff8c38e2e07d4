import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Logger } from "pino";
import type { createApp } from "./app.ts";
import { Problem, problemBody, problems } from "./problem.ts";
import { isUpload } from "./routes/files.ts";
import { Refusal } from "@countersign/db/refusal.ts";

const limits = {
  /** Of all headers together, in bytes. */
  maxHeaderSize: 16 * 1024,
  headersTimeout: 20_000,
  /** The runtime's own bound knows no difference between requests; `boundArrival` has one. */
  requestTimeout: 0,
};

const usualArrivalMs = 60_000;

/** An app behind a socket. */
export interface HttpServer {
  readonly server: Server;
  readonly url: string;
}

/** The address cannot be listened on; the message says which and what to do. */
export class AddressRefusal extends Refusal {
  override readonly name = "AddressRefusal";
}

/**
 * When it resolves the app answers at `url`; port 0 takes a free one. A request's body arrives within `arrivalMs`, that of
 * an upload with no longer pause than that. Throws AddressRefusal where it cannot have the address.
 */
export async function listen(
  app: ReturnType<typeof createApp>,
  at: { readonly host: string; readonly port: number },
  log: Logger,
  arrivalMs = usualArrivalMs,
): Promise<HttpServer> {
  const listener = getRequestListener(app.fetch, {
    hostname: at.host,
    errorHandler: (error) => refuseUnreadable(error, log),
  });
  const server = createServer(limits, (incoming, outgoing) => {
    boundArrival(incoming, outgoing, arrivalMs);
    void listener(incoming, outgoing);
  });
  // More are dropped by the runtime without a word.
  server.maxHeadersCount = 100;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else refuseRaw(socket, error.code);
  });
  server.listen(at.port, at.host);
  await once(server, "listening").catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const why = code === "EADDRINUSE" ? "another process listens there" : code;
    throw new AddressRefusal(
      `The server cannot listen on ${at.host}, port ${at.port}: ${why}. Stop what listens there, or set PORT and HOST to a free address.`,
      { cause: error },
    );
  });
  const { port } = server.address() as AddressInfo;
  const host = at.host.includes(":") ? `[${at.host}]` : at.host;
  return { server, url: `http://${host}:${port}` };
}

/** For a request that could not be made into one, so that no middleware has seen it. */
function refuseUnreadable(error: unknown, log: Logger): Response {
  const requestId = randomUUID();
  const problem =
    error instanceof RequestError
      ? new Problem("malformed_request", "The Host header or the address of the request cannot be read.")
      : new Problem("internal", `Something failed that should not. The server's log has it under ${requestId}.`);
  if (problem.code === "internal") log.error({ requestId, err: error }, "a request failed");
  return new Response(JSON.stringify(problemBody(problem, requestId)), {
    status: problems[problem.code].status,
    headers: { "Content-Type": "application/problem+json", "X-Request-Id": requestId },
  });
}

/**
 * Ends the connection of a body that is late: a bounded body has its time for all of it, an upload, which may take any
 * time, for each next part. How long the answer takes is the route's affair.
 */
function boundArrival(incoming: IncomingMessage, outgoing: ServerResponse, arrivalMs: number): void {
  const { headers, method = "", url = "", socket } = incoming;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  const mayGoOn = isUpload(method, url);
  let seenBytes = socket.bytesRead;
  const timer = setInterval(() => {
    const isMoving = socket.bytesRead > seenBytes;
    seenBytes = socket.bytesRead;
    if (mayGoOn && isMoving) return;
    if (incoming.complete) clearInterval(timer);
    // Whoever goes on sending is cut off the next time.
    else if (outgoing.headersSent) socket.destroy();
    else refuseRaw(socket, "ERR_HTTP_REQUEST_TIMEOUT");
  }, arrivalMs);
  incoming.once("close", () => clearInterval(timer));
}

/** Without a writable socket there is nobody left to answer. */
function refuseRaw(socket: Duplex, code: string | undefined): void {
  if (socket.writable) socket.end(rawRefusal(code));
  else socket.destroy();
}

/** For what is no HTTP request, so that there is nothing to route: a whole answer, after which the connection ends. */
function rawRefusal(code: string | undefined): string {
  const requestId = randomUUID();
  const problem = unreadable(code);
  const { status } = problems[problem.code];
  const body = JSON.stringify(problemBody(problem, requestId));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}`,
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function unreadable(code: string | undefined): Problem {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new Problem("headers_too_large", `The headers are over ${limits.maxHeaderSize} bytes. Send less.`);
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new Problem("request_timeout", "The request did not arrive in time. Send it again, without a pause.");
  }
  return new Problem("malformed_request", "This is not an HTTP request that can be read.");
}
