import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { readVisibleFile } from "./files.ts";
import { type Asker, visibleCaptures } from "./visible.ts";

export type CaptureStatus = "pending" | "compiled" | "failed";

/** Text that was read elsewhere, and the page that became of it. */
export interface Capture {
  readonly id: string;
  readonly url: string;
  readonly title: string;
  /** The sha256 of the text. */
  readonly hash: string;
  readonly source: string | null;
  readonly screenshotFileId: string | null;
  /** Whom it was captured for; its page is written as that user. */
  readonly userId: string;
  readonly runId: string | null;
  readonly capturedAt: Date;
  readonly status: CaptureStatus;
  /** How often compiling it was begun. */
  readonly attempts: number;
  readonly settledAt: Date | null;
  /** Why there is no page, for a person. */
  readonly problem: string | null;
  readonly pageId: string | null;
  readonly revision: number | null;
}

export interface NewCapture {
  readonly workspaceId: string;
  readonly url: string;
  readonly title: string;
  /** Of the text, which is in the store. */
  readonly hash: string;
  readonly source?: string | undefined;
  readonly screenshotFileId?: string | undefined;
  readonly userId: string;
  /** The call that captured it, where one did. */
  readonly call?: { readonly runId: string; readonly callId: string } | undefined;
}

export type PutCaptureResult =
  /** `existing`: this very text is the newest of this address, of those that the asker may see. */
  | { readonly kind: "captured" | "existing"; readonly id: string }
  | { readonly kind: "refused"; readonly reason: string };

/** In characters, all of ASCII: what an index takes beside the rest. */
const longestAddress = 2_000;

const columns = `id, url, title, hash, source, screenshot_file_id as "screenshotFileId", user_id as "userId", run_id as "runId",
       captured_at as "capturedAt", status, attempts, settled_at as "settledAt", problem, page_id as "pageId", revision`;

/**
 * Afterwards the capture waits to be compiled, or is what it was where the same text of the same address was captured last.
 * Where that capture is closed to the user there is one for this user alone, as if nothing had been captured. The address is
 * http or https without a login; its fragment does not count. A screenshot is a file that the user sees.
 */
export async function putCapture(db: Queryable, capture: NewCapture): Promise<PutCaptureResult> {
  const { workspaceId, url, title, hash, source = null, screenshotFileId = null, userId, call } = capture;
  const urlKey = readAddress(url);
  if (urlKey === undefined) {
    return { kind: "refused", reason: `${JSON.stringify(url)} is no http or https address without a login` };
  }
  if (urlKey.length > longestAddress) {
    const reason = `its address has ${urlKey.length} characters as it is sent; at most ${longestAddress} are kept`;
    return { kind: "refused", reason };
  }
  if (screenshotFileId !== null) {
    if ((await readVisibleFile(db, capture, screenshotFileId)) === undefined)
      return { kind: "refused", reason: `there is no file ${screenshotFileId} in this workspace` };
  }
  const known = `from ${visibleCaptures} c where url_key = $3 and (kept_for is null or kept_for = $2::uuid)`;
  const [newest] = await db.unsafe<{ id: string; hash: string }[]>(
    `select id, hash ${known} order by id desc limit 1`,
    [workspaceId, userId, urlKey],
    { prepare: true },
  );
  if (newest?.hash === hash) return { kind: "existing", id: newest.id };
  const follows = newest?.id ?? null;
  for (const keptFor of [null, userId]) {
    const [made] = await db<{ id: string }[]>`
      insert into captures (id, workspace_id, url, url_key, title, hash, source, screenshot_file_id, user_id, run_id,
                            call_id, kept_for, follows)
      values (${newId()}, ${workspaceId}, ${url}, ${urlKey}, ${title}, ${hash}, ${source}, ${screenshotFileId}, ${userId},
              ${call?.runId ?? null}, ${call?.callId ?? null}, ${keptFor}, ${follows})
      on conflict (workspace_id, url_key, hash, kept_for, follows) do nothing
      returning id`;
    if (made !== undefined) return { kind: "captured", id: made.id };
    const [other] = await db.unsafe<{ id: string }[]>(
      `select id ${known} and hash = $4 and follows is not distinct from $5::uuid order by id limit 1`,
      [workspaceId, userId, urlKey, hash, follows],
      { prepare: true },
    );
    if (other !== undefined) return { kind: "existing", id: other.id };
  }
  return {
    kind: "refused",
    reason: "this text was captured for you before, and its page has been closed to you since",
  };
}

/** One capture; undefined where there is none of this id that the asker may see. */
export async function readCapture(
  db: Queryable,
  { workspaceId, userId }: Asker,
  id: string,
): Promise<Capture | undefined> {
  const [row] = await db.unsafe<Capture[]>(
    `select ${columns} from ${visibleCaptures} c where id = $3::uuid`,
    [workspaceId, userId, id],
    { prepare: true },
  );
  return row;
}

/** The captures that the asker may see, newest first; one more than `limit` where the list goes on. */
export async function listCaptures(
  db: Queryable,
  asked: Asker & { readonly cursorId?: string | undefined; readonly limit: number },
): Promise<Capture[]> {
  const { workspaceId, userId, cursorId = "ffffffff-ffff-ffff-ffff-ffffffffffff", limit } = asked;
  return await db.unsafe<Capture[]>(
    `select ${columns} from ${visibleCaptures} c where id < $3::uuid order by id desc limit $4::int + 1`,
    [workspaceId, userId, cursorId, limit],
    { prepare: true },
  );
}

/**
 * Counts a further attempt to compile a capture. A commit of its own, so that text which ends the process each time is given
 * up at last. `exhausted`: there were `mostAttempts` before, and it has failed now; `settled`: there is nothing to do.
 */
export async function beginCapture(
  db: Queryable,
  id: string,
  mostAttempts: number,
): Promise<"begun" | "exhausted" | "settled"> {
  const [row] = await db<{ status: CaptureStatus }[]>`
    update captures
       set attempts   = least(attempts + 1, ${mostAttempts}),
           status     = case when attempts >= ${mostAttempts} then 'failed' else status end,
           settled_at = case when attempts >= ${mostAttempts} then clock_timestamp() end,
           problem    = case when attempts >= ${mostAttempts}
                             then 'it was begun ' || attempts || ' times and never came to an end' end
     where id = ${id} and status = 'pending'
    returning status`;
  if (row === undefined) return "settled";
  return row.status === "failed" ? "exhausted" : "begun";
}

export interface EarlierCapture {
  readonly url: string;
  readonly hash: string;
  readonly pageId: string;
  readonly revision: number;
}

export interface PendingCapture extends Capture {
  readonly workspaceId: string;
  readonly callId: string | null;
  /** What became of the newest other capture of this address, where it has a page that is open to whom this one is for. */
  readonly earlier: EarlierCapture | undefined;
  /** A newer text of this address is compiled already, so that this one is only history. */
  readonly isOvertaken: boolean;
}

/**
 * The capture, where it still waits to be compiled. Locked, and with it all captures of its address, until the transaction
 * ends: of one address one is compiled at a time.
 */
export async function lockCapture(tx: Tx, id: string): Promise<PendingCapture | undefined> {
  const [address] = await tx<{ key: string }[]>`
    select 'capture ' || workspace_id || ' ' || url_key as key from captures where id = ${id}`;
  if (address === undefined) return undefined;
  await tx`select pg_advisory_xact_lock(hashtextextended(${address.key}, 0))`;
  const [row] = await tx.unsafe<(Capture & { workspaceId: string; callId: string | null; urlKey: string })[]>(
    `select ${columns}, workspace_id as "workspaceId", call_id as "callId", url_key as "urlKey"
       from captures where id = $1::uuid and status = 'pending' for no key update`,
    [id],
  );
  if (row === undefined) return undefined;
  const [earlier] = await tx<(EarlierCapture & { id: string })[]>`
    select id, url, hash, page_id as "pageId", revision from captures
     where workspace_id = ${row.workspaceId} and url_key = ${row.urlKey} and status = 'compiled'
       and page_id not in (select closed_pages(${row.workspaceId}::uuid, ${row.userId}::uuid, 'read'))
     order by id desc limit 1`;
  const { urlKey: _urlKey, ...capture } = row;
  return { ...capture, earlier, isOvertaken: earlier !== undefined && earlier.id > id };
}

/** Records what became of a capture that `lockCapture` gave, in the same transaction. */
export async function settleCapture(
  tx: Tx,
  id: string,
  outcome: { readonly pageId: string; readonly revision: number } | { readonly problem: string },
): Promise<void> {
  const isCompiled = "pageId" in outcome;
  await tx`
    update captures
       set status     = ${isCompiled ? "compiled" : "failed"}, settled_at = clock_timestamp(),
           page_id    = ${isCompiled ? outcome.pageId : null}, revision = ${isCompiled ? outcome.revision : null},
           problem    = ${isCompiled ? null : outcome.problem}
     where id = ${id} and status = 'pending'`;
}

/** The address as it names a document; undefined for one that is not to be captured. */
function readAddress(url: string): string | undefined {
  let address: URL;
  try {
    address = new URL(url);
  } catch {
    return undefined;
  }
  if (address.protocol !== "https:" && address.protocol !== "http:") return undefined;
  if (address.username !== "" || address.password !== "") return undefined;
  address.hash = "";
  return address.href;
}
