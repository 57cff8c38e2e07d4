import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Logger } from "pino";
import type { createApp } from "./app.ts";
import { Problem, problemBody, problems } from "./problem.ts";

/** An app behind a socket. */
export interface HttpServer {
  readonly server: Server;
  readonly url: string;
}

/** The address cannot be listened on; the message says which and what to do. */
export class AddressRefusal extends Error {
  override readonly name = "AddressRefusal";
}

/** When it resolves the app answers at `url`; port 0 takes a free one. Throws AddressRefusal where it cannot have it. */
export async function listen(
  app: ReturnType<typeof createApp>,
  at: { readonly host: string; readonly port: number },
  log: Logger,
): Promise<HttpServer> {
  const listener = getRequestListener(app.fetch, {
    hostname: at.host,
    errorHandler: (error) => refuseUnreadable(error, log),
  });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
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
