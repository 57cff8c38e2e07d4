import type { Queryable } from "@countersign/db/connect.ts";
import type { Definition } from "@countersign/engine/definition.ts";

/**
 * What is odd about who decides, as the workspace is now: fewer people than have to approve. It is no refusal, since people
 * come and go; until then its approvals wait. Those of an escalation are counted, programs are not.
 */
export async function findApproverWarnings(
  sql: Queryable,
  workspaceId: string,
  { approvers }: Definition,
): Promise<string[]> {
  const quorum = approvers?.quorum ?? 1;
  const people = await sql.unsafe<{ name: string }[]>(
    `select name from users
      where workspace_id = $1::uuid and not is_service and disabled_at is null
        and is_among_approvers($2::text::json, true, id, role)
      order by name limit 21`,
    [workspaceId, approvers === undefined ? null : JSON.stringify(approvers)],
    { prepare: true },
  );
  const names = people.length === 0 ? "nobody" : people.map(({ name }) => name).join(", ");
  const needed = quorum === 1 ? "1 person has" : `${quorum} people have`;
  if (people.length < quorum) {
    return [
      `${needed} to approve, and in this workspace only ${people.length} could: ${names}. Until there are more, its approvals wait and nothing they ask for runs.`,
    ];
  }
  if (approvers?.selfApproval === "forbid" && people.length === quorum) {
    return [
      `${needed} to approve, whoever starts a run may not, and in this workspace ${people.length} could: ${names}. The approvals of a run that one of them starts wait until there are more.`,
    ];
  }
  return [];
}
