import { v7 as newId } from "uuid";
import { directoryKeyOf, findSpelling, keepDirectory } from "./directories.ts";
import type { Writer } from "./scope.ts";

export type AccessLevel = "none" | "read" | "write";

/** What one person, or everybody, may do in a directory and all below it, or with one page. */
export interface AccessRule {
  readonly id: string;
  readonly dir: string | null;
  readonly pageId: string | null;
  /** Null for everybody. */
  readonly userId: string | null;
  readonly level: AccessLevel;
  readonly createdBy: string;
  readonly createdAt: Date;
}

export interface NewAccessRule {
  readonly dir: string | null;
  readonly pageId: string | null;
  readonly userId: string | null;
  readonly level: AccessLevel;
}

const columns = `id, dir, page_id as "pageId", user_id as "userId", level, created_by as "createdBy", created_at as "createdAt"`;

/** Every rule of the workspace, by directory and page; for whoever may set them. */
export async function listAccessRules({ tx, workspaceId }: Writer): Promise<AccessRule[]> {
  return await tx.unsafe<AccessRule[]>(
    `select ${columns} from access_rules where workspace_id = $1 order by dir nulls last, page_id, user_id nulls first`,
    [workspaceId],
    { prepare: true },
  );
}

/**
 * Sets what `rule` says, in place of an earlier rule for the same place and person. Of exactly one of `dir` and `pageId`. A
 * directory may be named in any spelling; the rule holds for all of them, and bears the one that is there. `levelBefore` is what
 * the earlier rule said, null where there was none.
 */
export async function setAccessRule(
  writer: Writer,
  rule: NewAccessRule,
): Promise<AccessRule & { readonly levelBefore: AccessLevel | null }> {
  const { tx, workspaceId, userId: createdBy } = writer;
  const dir = rule.dir === null ? null : await placeRule(writer, rule.dir);
  const [stored] = await tx.unsafe<(AccessRule & { levelBefore: AccessLevel | null })[]>(
    `with before as (
       select level from access_rules
        where workspace_id = $2 and dir is not distinct from $3 and page_id is not distinct from $4 and user_id is not distinct from $5)
     insert into access_rules (id, workspace_id, dir, page_id, user_id, level, created_by)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (workspace_id, dir, page_id, user_id)
     do update set level = excluded.level, created_by = excluded.created_by, created_at = clock_timestamp()
     returning ${columns}, (select level from before) as "levelBefore"`,
    [newId(), workspaceId, dir, rule.pageId, rule.userId, rule.level, createdBy],
    { prepare: true },
  );
  if (stored === undefined) throw new Error("The rule was not stored");
  return stored;
}

/** The spelling by which rules of this directory are kept: one for all of them, so that a later rule replaces an earlier. */
async function placeRule(writer: Writer, asked: string): Promise<string> {
  const { tx, workspaceId } = writer;
  const plain = asked.split("/").filter(Boolean).join("/");
  await tx`select pg_advisory_xact_lock(hashtextextended(${`access rules ${workspaceId}`}, 0))`;
  const [ruled] = await tx<{ dir: string }[]>`
    select r.dir from access_rules r join directories d on d.workspace_id = r.workspace_id and d.dir = r.dir
     where r.workspace_id = ${workspaceId} and d.key = ${directoryKeyOf(plain)} order by r.created_at limit 1`;
  const dir = ruled?.dir ?? (await findSpelling(tx, workspaceId, plain)) ?? plain;
  await keepDirectory(writer, dir);
  return dir;
}

/** Removes a rule, and returns what it said; undefined where there is none of this id. */
export async function deleteAccessRule({ tx, workspaceId }: Writer, id: string): Promise<AccessRule | undefined> {
  const [gone] = await tx.unsafe<AccessRule[]>(
    `delete from access_rules where workspace_id = $1 and id = $2::uuid returning ${columns}`,
    [workspaceId, id],
    { prepare: true },
  );
  return gone;
}
