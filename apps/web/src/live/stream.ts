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

/** How often a server gives a sign of life until it says how often. */
const usualEveryMs = 15_000;

/** How many signs of life may be missed before a stream is not trusted any more. */
const mostMissed = 2.5;

export interface Stream {
  /** Connects, anew where it was: to whatever session the browser has now. */
  readonly open: () => void;
  readonly close: () => void;
  readonly isOpen: () => boolean;
  readonly isOnline: () => boolean;
}

/** One stream of the workspace, closed at first. `tell` hears what comes and how the connection stands. */
export function createStream(tell: (message: StreamMessage) => void): Stream {
  let source: EventSource | undefined;
  let isOnline = false;
  let everyMs = usualEveryMs;
  let silence: ReturnType<typeof setTimeout> | undefined;

  /** A connection on which nothing comes, not even a sign of life, only looks alive: another may bring something. */
  function hear(): void {
    clearTimeout(silence);
    silence = setTimeout(() => {
      setOnline(false);
      open();
    }, mostMissed * everyMs);
  }

  function setOnline(next: boolean): void {
    // A tab that found out for itself that nothing comes through waits to hear that it does again.
    if (isOnline === next && !next) return;
    isOnline = next;
    tell({ kind: "state", isOnline });
  }

  /** The browser comes back by itself with the last id, so nothing is missed; only a refusal ends a stream for good. */
  function open(): void {
    source?.close();
    const mine = new EventSource("/v1/events");
    source = mine;
    hear();
    mine.addEventListener("open", () => {
      if (source !== mine) return;
      hear();
      setOnline(true);
    });
    const on = (name: string, take: (data: unknown) => void): void =>
      mine.addEventListener(name, (event: MessageEvent<string>) => {
        if (source !== mine) return;
        take(JSON.parse(event.data));
        hear();
      });
    const learn = (data: unknown): void => {
      everyMs = (data as { readonly everyMs?: number }).everyMs ?? usualEveryMs;
    };
    on("alive", learn);
    on("ready", (data) => {
      learn(data);
      tell({ kind: "everything" });
    });
    on("resync", () => tell({ kind: "everything" }));
    on("changes", (data) => {
      const { runs, tasks, policies } = data as Changes;
      tell({ kind: "changes", runs, tasks, policies });
    });
    mine.addEventListener("error", () => {
      if (source !== mine) return;
      hear();
      setOnline(false);
      if (mine.readyState === EventSource.CLOSED) void reopen(mine);
    });
  }

  /** After a refusal: signed out, or a server that is busy or away behind a proxy. */
  async function reopen(refused: EventSource): Promise<void> {
    const status = await fetch("/v1/me").then(
      (response) => response.status,
      () => 0,
    );
    if (source !== refused) return;
    if (status === 401) {
      clearTimeout(silence);
      source = undefined;
      tell({ kind: "signed_out" });
      return;
    }
    setTimeout(() => {
      if (source === refused) open();
    }, 2_000);
  }

  return {
    open,
    close() {
      clearTimeout(silence);
      source?.close();
      source = undefined;
      isOnline = false;
    },
    isOpen: () => source !== undefined,
    isOnline: () => isOnline,
  };
}
