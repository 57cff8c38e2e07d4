import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { singly } from "@countersign/engine/singly.ts";
import type { Logger } from "pino";
import { type Changes, readChanges, readSnapshot } from "./read-changes.ts";
import { readStandings } from "./read-standings.ts";

/** Somebody who looks at a workspace, or at one run of it. */
export interface Watcher {
  readonly workspaceId: string;
  /** Undefined for who looks at all of it. */
  readonly runId: string | undefined;
  readonly tokenId: string;
  /** How its token stood when it came, as `standingOf` says it; where it stands otherwise, a workspace's watcher is told. */
  readonly standing?: string | undefined;
  /** Something changed that the watcher may look at. Called once for each look that found something, and never waits. */
  onChanges(changes: Changes): void;
  /** Time for a sign of life; `snapshot` is as of when everything was told. */
  onPing(snapshot: string): void;
  /** The server stops, or the token counts no longer. */
  onEnd(): void;
}

/** The changes of this process's database, for all who watch them. */
export interface Events {
  /**
   * Afterwards the watcher hears of every change that the returned snapshot did not see, until `stop`. Refused where the
   * process has as many as it takes.
   */
  watch(watcher: Watcher): Promise<{ readonly snapshot: string; stop(): void } | "full">;
  /** Somebody says that something changed: there will be a look at once. */
  readonly hear: () => void;
  /** How often watchers are given a sign of life. */
  readonly pingMs: number;
  /** How many watch. */
  watching(): number;
  /** True where it would refuse one more. */
  isFull(tokenId: string): boolean;
  /** Ends every watcher. */
  close(): Promise<void>;
}

export interface EventsOptions {
  readonly sql: Sql;
  readonly log: Logger;
  /** The floor under news that were not heard. */
  readonly pollMs?: number;
  readonly pingMs?: number;
  readonly mostWatchers?: number;
  /** Of one token: nobody takes all there are. */
  readonly mostOfOneToken?: number;
}

/** How long a token may have counted for something else before its watchers hear of it. */
const mostStaleMs = 2_000;

/** Between two looks: a busy system has news all the time. */
const betweenLooksMs = 40;

/**
 * One for each process: it looks once for everybody, when it hears of news and at every poll, and only while somebody
 * watches. A watcher costs no timer, no query and no connection of its own.
 */
export function createEvents(options: EventsOptions): Events {
  const { sql, log, pollMs = 1_000, pingMs = 15_000, mostWatchers = 4_000, mostOfOneToken = 1_000 } = options;
  const checkMs = Math.min(pingMs, mostStaleMs);
  const watchers = new Set<Watcher>();
  /** Those that are on their way in. */
  let coming = 0;
  let snapshot: string | undefined;
  let first: Promise<string> | undefined;
  let lookedAt = 0;
  /** Resolves after the next look that has not begun yet, whatever came of it. */
  let nextLook = Promise.withResolvers<void>();
  let timers: NodeJS.Timeout[] = [];

  const look = singly(lookForChanges, (error) => {
    // The snapshot stays, so the next look finds what this one did not.
    log.warn({ code: codeOf(error) }, "looking for changes failed; the next look comes by itself");
  });
  const check = singly(lookAtTokens, () => undefined);
  /** Of watchers that were told that their token stands otherwise than when they came: how. */
  const told = new WeakMap<Watcher, string>();

  async function lookForChanges(): Promise<void> {
    const early = lookedAt + betweenLooksMs - performance.now();
    if (early > 0) await sleep(early, undefined, { ref: false });
    const mine = nextLook;
    nextLook = Promise.withResolvers();
    try {
      if (snapshot === undefined) return;
      const changes = await readChanges(sql, snapshot);
      lookedAt = performance.now();
      // Everybody left meanwhile.
      if (timers.length === 0) return;
      snapshot = changes.snapshot;
      const isNothing = changes.runs.length + changes.tasks.length + changes.policies.length === 0;
      if (changes.isTooMuch || !isNothing) tellWatchers(changes);
    } finally {
      mine.resolve();
    }
  }

  function hear(): void {
    if (snapshot !== undefined) look.ask();
  }

  function tellWatchers(changes: Changes): void {
    const runs = new Set(changes.runs.map(({ id }) => id));
    for (const watcher of watchers) {
      const { runId, workspaceId } = watcher;
      const isMeant =
        changes.isTooMuch ||
        // A switch changes how every run under it reads, and touches none of their rows.
        changes.policies.some((policy) => policy.workspaceId === null || policy.workspaceId === workspaceId) ||
        (runId === undefined ? changes.runs.length + changes.tasks.length > 0 : runs.has(runId));
      if (isMeant) watcher.onChanges(changes);
    }
  }

  /**
   * A token that was revoked or has expired ends its streams as it would refuse a request; who may do more or less than
   * before is told to read everything again.
   */
  async function lookAtTokens(): Promise<void> {
    const asked = [...watchers];
    const standings = await readStandings(sql, [...new Set(asked.map(({ tokenId }) => tokenId))]);
    for (const watcher of asked) {
      const standing = standings.get(watcher.tokenId);
      if (standing === undefined) watcher.onEnd();
      else if (snapshot !== undefined && watcher.runId === undefined && watcher.standing !== undefined) {
        if (standing === (told.get(watcher) ?? watcher.standing)) continue;
        told.set(watcher, standing);
        watcher.onChanges({ snapshot, runs: [], tasks: [], policies: [], isTooMuch: true });
      }
    }
  }

  function ping(): void {
    if (snapshot === undefined) return;
    for (const watcher of watchers) watcher.onPing(snapshot);
  }

  async function readFirst(): Promise<string> {
    try {
      snapshot = await readSnapshot(sql);
      timers = [setInterval(hear, pollMs), setInterval(ping, pingMs), setInterval(check.ask, checkMs)];
      for (const timer of timers) timer.unref();
      return snapshot;
    } finally {
      first = undefined;
      restWhenAlone();
    }
  }

  /** A reader that comes from another process may have seen more than this one has: it must not be told of it again. */
  async function lookAgain(): Promise<void> {
    const { promise } = nextLook;
    look.ask();
    await promise;
  }

  function isFull(tokenId: string): boolean {
    if (watchers.size + coming >= mostWatchers) return true;
    let ofThisToken = 0;
    for (const watcher of watchers) if (watcher.tokenId === tokenId) ofThisToken += 1;
    return ofThisToken >= mostOfOneToken;
  }

  function restWhenAlone(): void {
    if (watchers.size + coming > 0) return;
    for (const timer of timers) clearInterval(timer);
    timers = [];
    snapshot = undefined;
  }

  return {
    pingMs,
    async watch(watcher) {
      if (isFull(watcher.tokenId)) return "full";
      coming += 1;
      try {
        if (snapshot === undefined) await (first ??= readFirst());
        else await lookAgain();
        // Added in the same breath as the snapshot is taken: what is told from here on is what it did not see.
        watchers.add(watcher);
        return {
          snapshot: snapshot ?? "",
          stop() {
            if (watchers.delete(watcher)) restWhenAlone();
          },
        };
      } finally {
        coming -= 1;
        restWhenAlone();
      }
    },
    hear,
    watching: () => watchers.size,
    isFull,
    async close() {
      for (const watcher of watchers) watcher.onEnd();
      await Promise.all([look.settled(), check.settled()]);
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
