import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import type { Actor } from "../auth.ts";
import type { AuditCheck } from "../shapes/audit.ts";
import { lastId } from "./ids.ts";

const checks = `
  select k.id, json_build_object('id', u.id, 'name', u.name) as "askedBy", k.asked_at as "askedAt", k.taken_at as "takenAt",
         k.rows_read as "rowsRead", k.finished_at as "finishedAt", k.report
    from audit_checks k
    join users u on u.id = k.asked_by
   where k.workspace_id = $1 and k.id < $2::uuid
   order by k.id desc
   limit $3::int + 1`;

/** A page of the checks of the workspace's audit, newest first; one more than `limit` where the list goes on. */
export async function listAuditChecks(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId: string | undefined; readonly limit: number },
): Promise<AuditCheck[]> {
  const { workspaceId, cursorId = lastId, limit } = asked;
  return await sql.unsafe<AuditCheck[]>(checks, [workspaceId, cursorId, limit], { prepare: true });
}

/** Afterwards a check is waiting or under way, for a worker to make; answers it, which may be one that was asked for before. */
export async function askForAuditCheck(
  sql: Queryable,
  { workspaceId, userId }: Pick<Actor, "workspaceId" | "userId">,
): Promise<AuditCheck> {
  await sql.unsafe(
    `insert into audit_checks (id, workspace_id, asked_by) values ($1::uuid, $2::uuid, $3::uuid)
     on conflict (workspace_id) where finished_at is null do nothing`,
    [newId(), workspaceId, userId],
    { prepare: true },
  );
  const [check] = await listAuditChecks(sql, { workspaceId, cursorId: undefined, limit: 1 });
  if (check === undefined) throw new Error("a check of the audit is not there after it was asked for");
  return check;
}
