import { CliError } from "./exit.ts";
import { isOutOfReach, noAnswer, refusalOf } from "./client.ts";
import { pause } from "./verbs/interrupt.ts";

/** An event of a stream; `data` is what its kind says. */
export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

export interface FollowOptions {
  /** Asks for the stream, from after the last event that was received on. */
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly signal: AbortSignal;
  /** The server is out of reach, or answers again. */
  readonly onAway: (isAway: boolean) => void;
}

/** How often a server gives a sign of life until it says how often; none for two and a half times that, and it is gone. */
const usualEveryMs = 15_000;

/** Between two attempts to connect. */
const againMs = 1_000;

/**
 * The events of a stream, in the batches in which they arrive. Where the connection breaks, or only looks alive, it connects
 * again and goes on after the last whole event, until the signal is aborted or the server says that nothing will come. Throws CliError where
 * the server refuses, and where it could not be reached from the beginning.
 */
export async function* followEvents({
  open,
  signal,
  onAway,
}: FollowOptions): AsyncGenerator<readonly StreamEvent[], void> {
  let lastEventId: string | undefined;
  let hasConnected = false;
  while (!signal.aborted) {
    try {
      const response = await open(lastEventId);
      if (response.status === 204) return;
      if (!response.ok) throw refusalOf(response.status, await response.json().catch(() => undefined));
      hasConnected = true;
      onAway(false);
      const parser = createParser(lastEventId);
      const decoder = new TextDecoder();
      let everyMs = usualEveryMs;
      for await (const chunk of chunksOf(response, () => 2.5 * everyMs)) {
        const read = parser.take(decoder.decode(chunk, { stream: true }));
        lastEventId = parser.lastEventId();
        everyMs = read.reduce((ms, { data }) => everyMsIn(data) ?? ms, everyMs);
        const events = read.filter(({ event }) => event !== "alive");
        if (events.length > 0) yield events;
      }
    } catch (error) {
      if (signal.aborted) return;
      const told = error instanceof CliError ? error : noAnswer(error);
      if (!hasConnected || !isOutOfReach(told)) throw told;
    }
    if (signal.aborted) return;
    onAway(true);
    await pause(againMs, signal);
  }
}

/** The pieces of a body until it ends, or brings nothing for that long. */
async function* chunksOf({ body }: Response, silentMs: () => number): AsyncGenerator<Uint8Array, void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const silence = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => silence.resolve(undefined), silentMs());
      const read = await Promise.race([reader.read(), silence.promise]).finally(() => clearTimeout(timer));
      if (read?.value === undefined) return;
      yield read.value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** How often a sign of life comes, where an event says so. */
function everyMsIn(data: unknown): number | undefined {
  if (typeof data !== "object" || data === null || !("everyMs" in data)) return undefined;
  return typeof data.everyMs === "number" && data.everyMs > 0 ? data.everyMs : undefined;
}

/** Asks until the server can be reached, for what an event called for: it does not come a second time. */
export async function askUntilReached<T>(
  { signal, onAway }: Pick<FollowOptions, "signal" | "onAway">,
  request: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      const answer = await request();
      onAway(false);
      return answer;
    } catch (error) {
      if (signal.aborted || !isOutOfReach(error)) throw error;
      onAway(true);
      await pause(againMs, signal);
    }
  }
}

/** Reads the text of an event stream piece by piece; what is no whole event yet waits for the rest. */
export function createParser(from: string | undefined): {
  take(text: string): StreamEvent[];
  lastEventId(): string | undefined;
} {
  let rest = "";
  let lastEventId = from;

  function readBlock(block: string): StreamEvent | undefined {
    let event = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === "event" && value !== undefined) event = value;
      else if (field === "id" && value !== undefined) lastEventId = value;
      else if (field === "data" && value !== undefined) data.push(value);
    }
    return data.length === 0 ? undefined : { event, data: JSON.parse(data.join("\n")) as unknown };
  }

  return {
    take(text) {
      const blocks = (rest + text).split("\n\n");
      rest = blocks.pop() ?? "";
      return blocks.flatMap((block) => readBlock(block) ?? []);
    },
    lastEventId: () => lastEventId,
  };
}
