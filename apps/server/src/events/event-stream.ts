/** The headers of an event stream: nothing between us and the reader may keep it back, store or rewrite it. */
export const eventStreamHeaders = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;

export interface StreamEvent {
  readonly event: string;
  /** Where a reader that has got this event goes on; left out where it stays where it was. */
  readonly id?: string;
  readonly data: unknown;
}

/** What a browser waits before it connects again, in milliseconds. */
const retryMs = 1_000;

/** The first text of a stream. */
export const opening = `retry: ${retryMs}\n: open\n\n`;

/** One event as text. JSON holds no line breaks, so neither does its data. */
export function writeEvent({ event, id, data }: StreamEvent): string {
  return `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/**
 * A sign of life, of which `everyMs` says how often they come: who hears none for longer has a connection that only looks
 * alive. An event and no comment, since a browser's pages see no comments. With an id the reader goes on from there.
 */
export function writeAlive(everyMs: number, id?: string): string {
  return writeEvent({ event: "alive", ...(id === undefined ? {} : { id }), data: { everyMs } });
}

/**
 * A response body from texts that are made when the reader has room for them, so that a slow reader costs no memory. When
 * the reader leaves, `leave` is called and the texts are not asked for again. Where making one fails, `onFailure` is told
 * and the body ends; a reader comes back by itself.
 */
export function streamTexts(
  texts: AsyncGenerator<string, void>,
  { leave, onFailure }: { readonly leave: () => void; readonly onFailure: (error: unknown) => void },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const made = await texts.next().catch(onFailure);
        if (made === undefined || made.done === true) controller.close();
        else controller.enqueue(encoder.encode(made.value));
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
