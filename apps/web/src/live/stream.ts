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

/** How long a stream may bring nothing before it is not trusted any more: two signs of life and some. */
const silentMs = 40_000;

const lookMs = 5_000;

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
  let heardAt = 0;
  let watch: ReturnType<typeof setInterval> | undefined;

  /** A connection on which nothing comes, not even a sign of life, only looks alive: another may bring something. */
  function look(): void {
    if (!isOnline || Date.now() - heardAt < silentMs) return;
    setOnline(false);
    open();
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
    heardAt = Date.now();
    watch ??= setInterval(look, lookMs);
    mine.addEventListener("open", () => {
      heardAt = Date.now();
      setOnline(true);
    });
    const on = (name: string, hear: (data: string) => void): void =>
      mine.addEventListener(name, (event: MessageEvent<string>) => {
        heardAt = Date.now();
        hear(event.data);
      });
    on("alive", () => undefined);
    on("ready", () => tell({ kind: "everything" }));
    on("resync", () => tell({ kind: "everything" }));
    on("changes", (data) => {
      const { runs, tasks, policies } = JSON.parse(data) as Changes;
      tell({ kind: "changes", runs, tasks, policies });
    });
    mine.addEventListener("error", () => {
      if (source !== mine) return;
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
      clearInterval(watch);
      watch = undefined;
      source?.close();
      source = undefined;
      isOnline = false;
    },
    isOpen: () => source !== undefined,
    isOnline: () => isOnline,
  };
}
