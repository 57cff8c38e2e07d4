import type { HttpBindings } from "@hono/node-server";

/** What is read at most of a body that nobody wants, and for how long. */
const mostBytes = 32 * 1024 * 1024;
const mostMs = 500;

/**
 * Reads what is left of a request's body, within bounds, and throws it away. Whoever is still sending can hear an answer
 * only afterwards: a connection that is closed on unread bytes is reset, and the answer with it. Who goes on sending is
 * cut off once the answer was written.
 */
export async function discardRest({ incoming, outgoing }: Partial<HttpBindings>): Promise<void> {
  if (incoming === undefined || incoming.complete || incoming.destroyed) return;
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  let read = 0;
  const onData = (chunk: Uint8Array): void => {
    read += chunk.length;
    if (read > mostBytes) resolve();
  };
  const timer = setTimeout(resolve, mostMs);
  incoming.on("data", onData);
  for (const end of ["end", "error", "close"]) incoming.once(end, () => resolve());
  incoming.resume();
  await isOver;
  clearTimeout(timer);
  incoming.off("data", onData);
  if (!incoming.complete) outgoing?.once("finish", () => incoming.destroy());
}
