/// <reference lib="webworker" />
import { createStream, type StreamMessage } from "./stream.ts";

/*
 * One stream of the workspace for all tabs of a browser: on HTTP/1.1 a browser opens six connections to a server, so a
 * stream for each tab would leave none for requests.
 */

/** What a tab says: it leaves; it slept; or which session of the browser it was answered under. */
export type TabMessage = "bye" | "wake" | { readonly session: string };

const ports = new Set<MessagePort>();
let session: string | undefined;

const stream = createStream((message) => {
  for (const port of ports) port.postMessage(message);
});

(self as unknown as SharedWorkerGlobalScope).addEventListener("connect", (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  ports.add(port);
  port.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if (data === "bye") ports.delete(port);
    // A computer that slept may hold a connection that only looks alive.
    else if (data === "wake") stream.open();
    else {
      const isOther = session !== undefined && session !== data.session;
      session = data.session;
      // Somebody signed in anew: the stream is still the former session's.
      if (isOther || !stream.isOpen()) stream.open();
    }
    if (ports.size === 0) stream.close();
  });
  port.start();
  if (stream.isOpen()) port.postMessage({ kind: "state", isOnline: stream.isOnline() } satisfies StreamMessage);
  else stream.open();
});
