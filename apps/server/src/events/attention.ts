import type { Events, Watcher } from "./events.ts";
import type { Changes } from "./read-changes.ts";
import { createWakeUp } from "./wake-up.ts";

/** Pings that a reader left unread, after which it is taken for gone. */
const mostUnreadPings = 4;

/** One stream's side of the changes: what it has still to tell, gathered while its reader is busy. */
export interface Attention {
  /** Begins to listen; changes count from the snapshot it returns. Undefined where the process takes no more. */
  listen(): Promise<string | undefined>;
  /** Resolves when there is something to tell. */
  next(): Promise<Due>;
  /** Stops listening and lets whoever waits in `next` go on. */
  end(): void;
}

export interface Due {
  readonly changes: readonly Changes[];
  /** A sign of life is due; everything up to here was told. */
  readonly ping: string | undefined;
  readonly hasEnded: boolean;
}

/** The most looks that are kept for a busy reader, which is then told to read everything again. */
const mostKept = 50;

/**
 * Listens to `events` for one stream. `onStalled` is called when the reader has not read for a minute: nothing is in hand
 * then that would notice that it is gone.
 */
export function payAttention(
  events: Events,
  of: Pick<Watcher, "workspaceId" | "runId" | "tokenId" | "standing">,
  onStalled: () => void,
): Attention {
  const { wake, sleep } = createWakeUp();
  let kept: Changes[] = [];
  let ping: string | undefined;
  let unreadPings = 0;
  let hasEnded = false;
  let stop: (() => void) | undefined;

  function end(): void {
    hasEnded = true;
    stop?.();
    wake();
  }

  const watcher: Watcher = {
    ...of,
    onChanges(changes) {
      const isOver = kept.length >= mostKept;
      kept = isOver ? [{ ...changes, runs: [], tasks: [], policies: [], isTooMuch: true }] : [...kept, changes];
      // A sign of life is told after what is kept, and its reader goes on from there.
      if (ping !== undefined) ping = changes.snapshot;
      wake();
    },
    onPing(snapshot) {
      unreadPings += 1;
      if (unreadPings > mostUnreadPings) {
        end();
        onStalled();
      }
      ping = snapshot;
      wake();
    },
    onEnd: end,
  };

  return {
    async listen() {
      const watching = await events.watch(watcher);
      if (watching === "full") return undefined;
      stop = watching.stop;
      if (hasEnded) stop();
      return watching.snapshot;
    },
    async next() {
      if (!hasEnded) await sleep();
      const due = { changes: kept, ping, hasEnded };
      kept = [];
      ping = undefined;
      unreadPings = 0;
      return due;
    },
    end,
  };
}
