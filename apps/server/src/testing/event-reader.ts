/** An event as a reader gets it. */
export interface ReceivedEvent {
  readonly event: string;
  readonly data: unknown;
}

/** What a stream has brought so far, as a browser would have it. */
export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly ReceivedEvent[];
  /** Where it would go on. */
  lastEventId(): string;
  /** How many signs of life came. */
  pings(): number;
  /** Resolves with all events once `holds` is true of them; throws where the stream ends before or nothing comes. */
  until(holds: (events: readonly ReceivedEvent[]) => boolean, patienceMs?: number): Promise<readonly ReceivedEvent[]>;
  /** Resolves when the stream has ended, in whatever way. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Opens a stream and reads it until closed. What is cut off in the middle of an event is dropped, as browsers do. */
export async function readEvents(
  url: string,
  token: string,
  { lastEventId, headers }: { readonly lastEventId?: string; readonly headers?: Record<string, string> } = {},
): Promise<EventReader> {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      ...headers,
    },
    signal: leaving.signal,
  });
  const events: ReceivedEvent[] = [];
  let id = lastEventId ?? "";
  let pings = 0;
  let news = Promise.withResolvers<void>();
  let hasEnded = false;

  function take(block: string): void {
    let event = "message";
    let data: string | undefined;
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) event = line.slice(7);
      else if (line.startsWith("id: ")) id = line.slice(4);
      else if (line.startsWith("data: ")) data = line.slice(6);
    }
    if (event === "alive") pings += 1;
    else if (data !== undefined) events.push({ event, data: JSON.parse(data) as unknown });
  }

  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          take(text.slice(0, end));
          text = text.slice(end + 2);
        }
        news.resolve();
        news = Promise.withResolvers();
      }
    } catch {
      // The connection was cut, which is what some tests do.
    }
    hasEnded = true;
    news.resolve();
  }

  const ended = read();
  return {
    status: response.status,
    headers: response.headers,
    events,
    lastEventId: () => id,
    pings: () => pings,
    async until(holds, patienceMs = 40_000) {
      const deadline = performance.now() + patienceMs;
      while (!holds(events)) {
        if (hasEnded) throw new Error(`The stream ended after ${JSON.stringify(events)}`);
        const left = deadline - performance.now();
        if (left <= 0) throw new Error(`Within ${patienceMs} ms only this came: ${JSON.stringify(events)}`);
        const timer = setTimeout(news.resolve, left);
        await news.promise;
        clearTimeout(timer);
      }
      return events;
    },
    ended,
    close: () => leaving.abort(),
  };
}
