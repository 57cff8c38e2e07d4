/// <reference lib="webworker" />

/*
 * One stream of the workspace for all tabs of a browser: on HTTP/1.1 a browser opens six connections to a server, so a
 * stream for each tab would leave none for requests.
 */

/** What tabs are told. */
export type StreamMessage =
  | ({ readonly kind: "changes" } & Changes)
  /** More changed than is told one by one, or the connection is new: look at everything again. */
  | { readonly kind: "everything" }
  | { readonly kind: "state"; readonly isOnline: boolean }
  | { readonly kind: "signed_out" };

interface Changes {
  readonly runs: readonly string[];
  readonly tasks: readonly { readonly id: string }[];
  /** Scopes whose rules or switches changed. */
  readonly policies: readonly { readonly id: string }[];
}

const ports = new Set<MessagePort>();
let source: EventSource | undefined;
let isOnline = false;

function tell(message: StreamMessage): void {
  for (const port of ports) port.postMessage(message);
}

function setOnline(next: boolean): void {
  if (isOnline === next) return;
  isOnline = next;
  tell({ kind: "state", isOnline });
}

/** The browser comes back by itself with the last id, so nothing is missed; only a refusal ends a stream for good. */
function open(): void {
  source?.close();
  source = new EventSource("/v1/events");
  source.addEventListener("open", () => setOnline(true));
  source.addEventListener("ready", () => tell({ kind: "everything" }));
  source.addEventListener("resync", () => tell({ kind: "everything" }));
  source.addEventListener("changes", (event: MessageEvent<string>) => {
    const { runs, tasks, policies } = JSON.parse(event.data) as Changes;
    tell({ kind: "changes", runs, tasks, policies });
  });
  source.addEventListener("error", () => {
    setOnline(false);
    if (source?.readyState === EventSource.CLOSED) void reopen();
  });
}

/** After a refusal: signed out, or a server that is busy or away behind a proxy. */
async function reopen(): Promise<void> {
  const status = await fetch("/v1/me").then(
    (response) => response.status,
    () => 0,
  );
  if (status === 401) {
    source = undefined;
    tell({ kind: "signed_out" });
    return;
  }
  setTimeout(open, 2_000);
}

(self as unknown as SharedWorkerGlobalScope).addEventListener("connect", (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  ports.add(port);
  port.addEventListener("message", ({ data }: MessageEvent<"bye" | "wake">) => {
    if (data === "bye") ports.delete(port);
    // A computer that slept may hold a connection that only looks alive.
    else open();
    if (ports.size === 0) {
      source?.close();
      source = undefined;
      isOnline = false;
    }
  });
  port.start();
  if (source === undefined) open();
  else port.postMessage({ kind: "state", isOnline } satisfies StreamMessage);
});
