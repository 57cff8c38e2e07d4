import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { type Asker, visibleProposals } from "./visible.ts";

export type ProposalStatus = "proposed" | "accepted" | "dismissed" | "duplicate";

/** Something that is to be remembered, and what became of it. */
export interface Proposal {
  readonly id: string;
  /** What sort of thing it is, such as `preference`; each has a page of its own. */
  readonly kind: string;
  readonly text: string;
  readonly status: ProposalStatus;
  /** The proposal that says the same and came first. */
  readonly duplicateOf: string | null;
  readonly runId: string | null;
  readonly proposedBy: string;
  readonly proposedAt: Date;
  readonly settledAt: Date | null;
  readonly settledBy: string | null;
  /** Where it stands once it is accepted. */
  readonly pageId: string | null;
  readonly nodeId: string | null;
}

export interface NewProposal {
  /** Given by a caller that may send the same proposal twice; else made here. */
  readonly id?: string;
  readonly workspaceId: string;
  readonly kind: string;
  readonly text: string;
  /** `user:<id>` or `run:<id>`. */
  readonly proposedBy: string;
  readonly runId?: string | undefined;
}

const columns = `id, kind, text, status, duplicate_of as "duplicateOf", run_id as "runId", proposed_by as "proposedBy",
       proposed_at as "proposedAt", settled_at as "settledAt", settled_by as "settledBy", page_id as "pageId", node_id as "nodeId"`;

/** Afterwards the proposal is in the list; filing the one of the same id again changes nothing. */
export async function proposeMemory(db: Queryable, proposal: NewProposal): Promise<{ readonly id: string }> {
  const { id = newId(), workspaceId, kind, text, proposedBy, runId = null } = proposal;
  await db`
    insert into memory_proposals (id, workspace_id, kind, text, text_key, proposed_by, run_id)
    values (${id}, ${workspaceId}, ${kind}, ${text}, ${keyOf(text)}, ${proposedBy}, ${runId})
    on conflict (id) do nothing`;
  return { id };
}

/**
 * One proposal, locked until the transaction ends where `isLocked`; undefined where there is none of this id that the asker
 * may see.
 */
export async function readProposal(
  db: Queryable,
  { workspaceId, userId }: Asker,
  id: string,
  { isLocked = false } = {},
): Promise<Proposal | undefined> {
  const [row] = await db.unsafe<Proposal[]>(
    `select ${columns} from memory_proposals
      where id = $3::uuid and id in (select id from ${visibleProposals} v) ${isLocked ? "for no key update" : ""}`,
    [workspaceId, userId, id],
    { prepare: true },
  );
  return row;
}

/**
 * The proposals of one status that the asker may see: open ones oldest first, others newest first; one more than `limit`
 * where there are more.
 */
export async function listProposals(
  db: Queryable,
  asked: Asker & {
    readonly status: ProposalStatus;
    readonly cursorId?: string | undefined;
    readonly limit: number;
  },
): Promise<Proposal[]> {
  const { workspaceId, userId, status, cursorId, limit } = asked;
  const isOpen = status === "proposed";
  const end = isOpen ? "00000000-0000-0000-0000-000000000000" : "ffffffff-ffff-ffff-ffff-ffffffffffff";
  return await db.unsafe<Proposal[]>(
    `select ${columns} from ${visibleProposals} v
      where status = $3 and id ${isOpen ? ">" : "<"} $4::uuid
      order by id ${isOpen ? "asc" : "desc"} limit $5::int + 1`,
    [workspaceId, userId, status, cursorId ?? end, limit],
    { prepare: true },
  );
}

/**
 * Where what is remembered of these kinds stands or would stand, as far as the asker sees it: pages, and the directory by its
 * key.
 */
export async function listPlaces(
  db: Queryable,
  { workspaceId, userId }: Asker,
  kinds: readonly string[],
): Promise<{ readonly pages: readonly string[]; readonly dirs: readonly string[] }> {
  const [places] = await db<{ pages: string[]; dirs: string[] }[]>`
    select array(select p.id from pages p
                  where p.workspace_id = ${workspaceId}::uuid
                    and p.names && array(select 'memory: ' || k from unnest(${[...kinds]}::text[]) k)
                    and p.id not in (select closed_pages(${workspaceId}::uuid, ${userId}::uuid, 'read'))) as pages,
           array(select 'memory' where directory_level(${workspaceId}::uuid, ${userId}::uuid, 'memory') <> 'none') as dirs`;
  return places ?? { pages: [], dirs: [] };
}

/**
 * Records what became of an open proposal: where it stands now that it is accepted, or that it was dismissed. False where it
 * was settled before; of two at once one settles it.
 */
export async function settleProposal(
  db: Queryable,
  settled: {
    readonly workspaceId: string;
    readonly id: string;
    readonly settledBy: string;
    /** Absent, it is dismissed. */
    readonly place?: { readonly pageId: string; readonly nodeId: string };
  },
): Promise<boolean> {
  const { workspaceId, id, settledBy, place } = settled;
  const rows = await db`
    update memory_proposals
       set status = ${place === undefined ? "dismissed" : "accepted"}, settled_at = clock_timestamp(), settled_by = ${settledBy},
           page_id = ${place?.pageId ?? null}, node_id = ${place?.nodeId ?? null}
     where workspace_id = ${workspaceId} and id = ${id} and status = 'proposed'
    returning id`;
  return rows.length > 0;
}

/**
 * Afterwards no two open proposals of a kind that the asker sees say the same, where whoever sees the one sees the other: the
 * first stays, and each later one is its duplicate; so is one that fewer may read of one that more may. What was accepted or
 * dismissed counts as first too, so that nobody is asked the same twice. Answers how many were closed; again, none.
 */
export async function consolidateMemory(
  db: Queryable,
  { workspaceId, userId, consolidatedBy }: Asker & { readonly consolidatedBy: string },
): Promise<{ readonly closed: number }> {
  // What its run was shown is what closes a proposal: one is seen by all who see another that nothing less closes.
  const rows = await db.unsafe(
    `with same as materialized (
       select id, kind, text_key, status, proposed_at,
              array(select coalesce(x.page_id::text, x.dir)
                      from runs r join run_reads x on x.run_id = r.root_id where r.id = v.run_id) as closed_by
         from ${visibleProposals} v
        where status <> 'duplicate'
          and (kind, text_key) in (select kind, text_key from memory_proposals
                                    where workspace_id = $1::uuid and status = 'proposed')),
     firsts as (
       select s.id, (select f.id from same f
                      where f.kind = s.kind and f.text_key = s.text_key and f.closed_by <@ s.closed_by
                      order by f.status = 'proposed', cardinality(f.closed_by), f.proposed_at, f.id limit 1) as first
         from same s where s.status = 'proposed')
     update memory_proposals m
        set status = 'duplicate', duplicate_of = s.first, settled_at = clock_timestamp(), settled_by = $3
       from firsts s
      where m.id = s.id and s.first <> m.id and m.status = 'proposed'
     returning m.id`,
    [workspaceId, userId, consolidatedBy],
    { prepare: true },
  );
  return { closed: rows.length };
}

/**
 * The same for texts that say the same: letter case, spacing, quotation marks around it and the stop at the end do not
 * count. Words, their order, numbers and all other signs do.
 */
function keyOf(text: string): string {
  const folded = text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/\s+/gu, " ")
    .trim()
    .replace(/^["'“”„‘’«»]+/u, "")
    .replace(/(?<!["'“”„‘’«»])["'“”„‘’«»]+$/u, "")
    .replace(/(?<![.!…。])[.!…。]+$/u, "")
    .trim();
  return createHash("sha256").update(folded).digest("hex");
}
