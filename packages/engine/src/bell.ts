import { connect, type Sql } from "@countersign/db/connect.ts";
import { randomUUID } from "node:crypto";

/** The channel on which a process says that some run became ready. It carries no truth: a lost ring costs latency only. */
const channel = "countersign_ready";

/** The channel on which a process says that something people look at has changed; as little to be relied on. */
const news = "countersign_news";

/** How long news of one process are gathered: people do not see the difference, and a busy worker has news all the time. */
const gatherNewsMs = 50;

export interface Bell {
  /** Tells every listening worker, at once, that there may be work. Never rejects, never waits. */
  ring(): void;
  /** Tells whoever shows runs and tasks, within a tenth of a second, that some may have changed. As quiet as `ring`. */
  tell(): void;
  close(): Promise<void>;
}

/**
 * A bell on a connection of its own: a NOTIFY inside the commit that made the run ready would serialise commits
 * database-wide, and this one need not reach the disk.
 */
export function createBell(url: string): Bell {
  const sql = connect(url, { max: 1, silentMs: 60_000, applicationName: "countersign bell" });
  const ready = gather(channel, (send) => {
    // All that one batch of commits rings for has been asked for by then.
    const next = setImmediate(send);
    return () => clearImmediate(next);
  });
  const changed = gather(news, (send) => {
    const timer = setTimeout(send, gatherNewsMs);
    return () => clearTimeout(timer);
  });

  /** What is asked for before `schedule` sends goes out as one, and so does what is asked for while one is under way. */
  function gather(on: string, schedule: (send: () => void) => () => void): { ask(): void; end(): Promise<unknown> } {
    let unschedule: (() => void) | undefined;
    let sending: Promise<unknown> | undefined;
    let isWanted = false;

    function ask(): void {
      if (sending !== undefined) isWanted = true;
      else unschedule ??= schedule(send);
    }

    function send(): void {
      unschedule = undefined;
      sending = sql`select set_config('synchronous_commit', 'off', true), pg_notify(${on}, '')`
        // A ring that fails is made good by the poll that every listener makes each second.
        .catch(() => undefined)
        .then(() => {
          sending = undefined;
          if (isWanted) ask();
          isWanted = false;
        });
    }

    return {
      ask,
      async end() {
        unschedule?.();
        await sending;
        unschedule?.();
      },
    };
  }

  return {
    ring: ready.ask,
    tell: changed.ask,
    async close() {
      await Promise.all([ready.end(), changed.end()]);
      await sql.end({ timeout: 1 });
    },
  };
}

export interface ListenOptions {
  readonly onRing: () => void;
  /** For whoever shows what changes; a ring is news too. */
  readonly onNews?: () => void;
  /** Called once where a listener hears nothing, as behind a pooler in transaction mode; work is then found by polling. */
  readonly onUnavailable: () => void;
  /** How often the listener makes sure that it still hears, and how long it waits for that. */
  readonly probeMs?: number;
  readonly probeTimeoutMs?: number;
}

export interface Listener {
  close(): Promise<void>;
}

/**
 * Listens for the bell until closed. A connection can be dead and say nothing (a cable, a firewall that forgot it), so
 * the listener rings itself now and then over another connection; hearing nothing it is replaced.
 */
export function listenToBell(url: string, sql: Sql, options: ListenOptions): Listener {
  const { onRing, onNews, onUnavailable, probeMs = 15_000, probeTimeoutMs = 3_000 } = options;
  const self = randomUUID();
  let isClosed = false;
  let hasSaidUnavailable = false;
  let current = open();
  const timer = setInterval(() => void probe(), probeMs);
  timer.unref();
  void probe();

  function open(): { ear: Sql; heard: PromiseWithResolvers<void>; listening: Promise<unknown> } {
    const ear = connect(url, { max: 1, applicationName: "countersign listener" });
    const opened = {
      ear,
      heard: Promise.withResolvers<void>(),
      listening: Promise.resolve<unknown>(undefined),
    };
    const onNotify = (payload: string): void => {
      if (payload === self) opened.heard.resolve();
      else if (payload === "") onRing();
    };
    // The driver listens again by itself when it loses the connection; rings missed meanwhile are found by polling.
    opened.listening = ear.listen(channel, onNotify, onRing).catch(() => undefined);
    if (onNews !== undefined) ear.listen(news, onNews, onNews).catch(() => undefined);
    return opened;
  }

  async function probe(): Promise<void> {
    const probed = current;
    probed.heard = Promise.withResolvers();
    await probed.listening;
    const isSent = await sql`select pg_notify(${channel}, ${self})`.then(
      () => true,
      () => false,
    );
    if (!isSent || isClosed) return;
    const isHeard = await Promise.race([
      probed.heard.promise.then(() => true),
      sleep(probeTimeoutMs).then(() => false),
    ]);
    if (isHeard || isClosed || probed !== current) return;
    if (!hasSaidUnavailable) onUnavailable();
    hasSaidUnavailable = true;
    current = open();
    await end(probed.ear);
  }

  return {
    async close() {
      isClosed = true;
      clearInterval(timer);
      await end(current.ear);
    },
  };
}

async function end(sql: Sql): Promise<void> {
  await sql.end({ timeout: 1 }).catch(() => undefined);
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
}
