import { connect } from "node:net";

/** The protocol's question whether the server would encrypt: answered by one byte, before anybody signs in. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Whether a PostgreSQL server on 127.0.0.1 takes connections at `port`. One that was just killed does not, though its
 * process and its open port outlive the signal for a moment. Never rejects; silence for 5 seconds is a no.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export async function answers(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1", timeout: 5_000 });
  try {
    return await new Promise<boolean>((settle) => {
      socket.once("data", () => settle(true));
      for (const ending of ["error", "timeout", "close"]) socket.once(ending, () => settle(false));
      socket.write(sslRequest);
    });
  } finally {
    socket.destroy();
  }
}
