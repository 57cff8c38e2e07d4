import { createHash } from "node:crypto";
import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import type { Context } from "hono";
import type { Actor } from "./auth.ts";
import type { AppEnv, ServerDependencies } from "./context.ts";
import { observeCommits } from "./observe-commits.ts";
import { readTogether } from "./queries/read-together.ts";
import { invalidField, Problem } from "./problem.ts";
import { idempotencyKey } from "./shapes/common.ts";

/** What a request that creates or decides works with: the pool and the committer, or the transaction that keeps its key. */
export interface Work {
  readonly sql: Queryable;
  readonly commit: Committer;
  /** Several reads of one moment; with a key, of what the transaction has written so far. */
  read<R>(body: (tx: Tx) => Promise<R>): Promise<R>;
}

type Dependencies = Pick<ServerDependencies, "sql" | "commit" | "ring">;

interface Keyed {
  readonly key: string;
  readonly sender: string;
  readonly workspaceId: string;
  readonly requestHash: string;
}

/** How long a keyed request waits for the lock of what it changes. */
const lockTimeoutMs = 10_000;

/**
 * Does `work`, which sends commits of the engine, at most once per sender and idempotency key: its answer is stored in the
 * commit's own transaction, and the same request again is answered with it, marked `Idempotency-Replayed`. Refused with
 * `in_flight` while the first is worked on, with `key_reused` where the key stands for another request. A refusal stores no
 * key, so the request may be sent again; what a commit wrote for the audit before it refused stays. Without a key the
 * commits go through the committer, together with those of others, unless `isOneCommit`: then `work` is one transaction too.
 */
export async function once<T extends object>(
  c: Context<AppEnv>,
  deps: Dependencies,
  work: (work: Work) => Promise<T>,
  { isOneCommit = false }: { readonly isOneCommit?: boolean } = {},
): Promise<T> {
  const { sql, commit, ring } = deps;
  const keyed = await keyOf(c);
  if (keyed === undefined && !isOneCommit) return await work({ sql, commit, read: (body) => readTogether(sql, body) });

  let wakes = false;
  const ended = await transaction(
    sql,
    async (tx) => {
      const before = keyed === undefined ? undefined : await findAnswer<T>(tx, keyed);
      if (before !== undefined) return { kind: "replayed" as const, answer: before };
      const commitHere: Committer = observeCommits(
        async (kind, transition) => await commitWithin(tx, kind, transition),
        (kind, outcome) => {
          wakes ||= kind.wakes(outcome);
        },
      );
      try {
        const answer = await work({ sql: tx, commit: commitHere, read: (body) => body(tx) });
        if (keyed !== undefined) await keepAnswer(tx, keyed, answer);
        return { kind: "answered" as const, answer };
      } catch (error) {
        if (error instanceof Problem) return { kind: "refused" as const, problem: error };
        throw error;
      }
    },
    { lockTimeoutMs },
  );
  if (wakes) ring();
  if (ended.kind === "refused") throw ended.problem;
  if (ended.kind === "replayed") c.header("Idempotency-Replayed", "true");
  return ended.answer;
}

/**
 * As `once`, for work that is a transaction of ours: nothing of it stays where it throws, a refusal included. What `keep`
 * makes of the answer is stored for a replay, for an answer that holds what must not be stored.
 */
export async function transactOnce<T extends object>(
  c: Context<AppEnv>,
  { sql }: Pick<Dependencies, "sql">,
  work: (tx: Tx) => Promise<T>,
  keep: (answer: T) => T = (answer) => answer,
): Promise<T> {
  const keyed = await keyOf(c);
  const { isReplay, answer } = await transaction(
    sql,
    async (tx) => {
      const before = keyed === undefined ? undefined : await findAnswer<T>(tx, keyed);
      if (before !== undefined) return { isReplay: true, answer: before };
      const made = await work(tx);
      if (keyed !== undefined) await keepAnswer(tx, keyed, keep(made));
      return { isReplay: false, answer: made };
    },
    { lockTimeoutMs },
  );
  if (isReplay) c.header("Idempotency-Replayed", "true");
  return answer;
}

/**
 * What the same request was answered before, for work that rests on more than the transaction of `transactOnce` may look
 * at: that may be otherwise by now. Undefined where nothing was kept.
 */
export async function findReplay<T extends object>(
  c: Context<AppEnv>,
  { sql }: Pick<Dependencies, "sql">,
): Promise<T | undefined> {
  const keyed = await keyOf(c);
  const before = keyed && (await transaction(sql, (tx) => findAnswer<T>(tx, keyed)));
  if (before !== undefined) c.header("Idempotency-Replayed", "true");
  return before;
}

async function keyOf(c: Context<AppEnv>): Promise<Keyed | undefined> {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return undefined;
  const checked = idempotencyKey.safeParse(key);
  if (!checked.success) throw invalidField("header.idempotency-key", checked.error.issues[0]?.message ?? "");
  const actor = c.get("actor");
  const { pathname, search } = new URL(c.req.url);
  const request = [actor.userId, c.req.method, pathname, search, c.req.header("if-match"), await c.req.text()];
  return { key, sender: senderOf(actor), workspaceId: actor.workspaceId, requestHash: sha256(request) };
}

/** The account whose token it is, also while it acts for somebody. */
function senderOf(actor: Actor): string {
  return actor.via?.userId ?? actor.userId;
}

async function findAnswer<T>(tx: Tx, { key, sender, requestHash }: Keyed): Promise<T | undefined> {
  // Held until the commit, and taken before the look-up: whoever comes next sees either the lock or the answer.
  const [lock] = await tx.unsafe<{ isMine: boolean }[]>(
    `select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "isMine"`,
    [`idempotency ${sender} ${key}`],
    { prepare: true },
  );
  if (lock?.isMine !== true) {
    throw new Problem(
      "in_flight",
      `A request with the Idempotency-Key ${key} is still being worked on. Send it again in a moment for its answer.`,
      { retryAfterSeconds: 1 },
    );
  }
  const [known] = await tx.unsafe<{ requestHash: string; answer: string }[]>(
    `select request_hash as "requestHash", answer from idempotency_keys where sender = $1::uuid and key = $2`,
    [sender, key],
    { prepare: true },
  );
  if (known === undefined) return undefined;
  if (known.requestHash === requestHash) return JSON.parse(known.answer) as T;
  throw new Problem(
    "key_reused",
    `The Idempotency-Key ${key} was used before with another request. Send the same request again, or use a new key.`,
  );
}

/** Stores the answer, and removes a few that are too old to be asked for. */
async function keepAnswer(tx: Tx, { key, sender, workspaceId, requestHash }: Keyed, answer: object): Promise<void> {
  await tx.unsafe(
    `with old as (
       delete from idempotency_keys
        where (sender, key) in (
              select sender, key from idempotency_keys where created_at < clock_timestamp() - interval '2 days'
               order by created_at limit 4 for update skip locked))
     insert into idempotency_keys (sender, key, workspace_id, request_hash, answer)
     values ($1::uuid, $2, $3::uuid, $4, $5)`,
    [sender, key, workspaceId, requestHash, JSON.stringify(answer)],
    { prepare: true },
  );
}

/** The same for equal requests and different for others. */
export function sha256(parts: readonly (string | undefined)[]): string {
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("hex");
}
