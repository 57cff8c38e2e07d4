import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";

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
  /** `existing`: this very text of this address was captured before. */
  | { readonly kind: "captured" | "existing"; readonly id: string }
  | { readonly kind: "refused"; readonly reason: string };

const columns = `id, url, title, hash, source, screenshot_file_id as "screenshotFileId", user_id as "userId", run_id as "runId",
       captured_at as "capturedAt", status, attempts, settled_at as "settledAt", problem, page_id as "pageId", revision`;

/**
 * Afterwards the capture waits to be compiled, or is what it was where the same text of the same address had been captured.
 * The address is http or https without a login; its fragment does not count. A screenshot is a file of the workspace.
 */
export async function putCapture(db: Queryable, capture: NewCapture): Promise<PutCaptureResult> {
  const { workspaceId, url, title, hash, source = null, screenshotFileId = null, userId, call } = capture;
  const urlKey = readAddress(url);
  if (urlKey === undefined) {
    return { kind: "refused", reason: `${JSON.stringify(url)} is no http or https address without a login` };
  }
  if (screenshotFileId !== null) {
    const [file] = await db`select from files where workspace_id = ${workspaceId} and id = ${screenshotFileId}`;
    if (file === undefined)
      return { kind: "refused", reason: `there is no file ${screenshotFileId} in this workspace` };
  }
  const [made] = await db<{ id: string }[]>`
    insert into captures (id, workspace_id, url, url_key, title, hash, source, screenshot_file_id, user_id, run_id, call_id)
    values (${newId()}, ${workspaceId}, ${url}, ${urlKey}, ${title}, ${hash}, ${source}, ${screenshotFileId}, ${userId},
            ${call?.runId ?? null}, ${call?.callId ?? null})
    on conflict (workspace_id, url_key, hash) do nothing
    returning id`;
  if (made !== undefined) return { kind: "captured", id: made.id };
  const [known] = await db<{ id: string }[]>`
    select id from captures where workspace_id = ${workspaceId} and url_key = ${urlKey} and hash = ${hash}`;
  if (known === undefined) throw new Error(`A capture of ${urlKey} was neither made nor found`);
  return { kind: "existing", id: known.id };
}

/** One capture; undefined where the workspace has none of this id. */
export async function readCapture(db: Queryable, workspaceId: string, id: string): Promise<Capture | undefined> {
  const [row] = await db.unsafe<Capture[]>(
    `select ${columns} from captures where workspace_id = $1::uuid and id = $2::uuid`,
    [workspaceId, id],
    { prepare: true },
  );
  return row;
}

/** The captures of a workspace, newest first; one more than `limit` where the list goes on. */
export async function listCaptures(
  db: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId?: string | undefined; readonly limit: number },
): Promise<Capture[]> {
  const { workspaceId, cursorId = "ffffffff-ffff-ffff-ffff-ffffffffffff", limit } = asked;
  return await db.unsafe<Capture[]>(
    `select ${columns} from captures where workspace_id = $1::uuid and id < $2::uuid order by id desc limit $3::int + 1`,
    [workspaceId, cursorId, limit],
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

export interface PendingCapture extends Capture {
  readonly workspaceId: string;
  readonly callId: string | null;
  /** What became of the newest other capture of this address, where it has a page. */
  readonly earlier: { readonly pageId: string; readonly revision: number } | undefined;
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
  const [earlier] = await tx<{ id: string; pageId: string; revision: number }[]>`
    select id, page_id as "pageId", revision from captures
     where workspace_id = ${row.workspaceId} and url_key = ${row.urlKey} and status = 'compiled'
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
