import { spanMs } from "@countersign/gate/storable.ts";
import { z } from "zod";

const role = z.enum(["viewer", "operator", "approver", "admin"]);

/** People, by what they are or who: ids of users. */
const people = { roles: z.array(role).optional(), users: z.array(z.uuid().toLowerCase()).max(100).optional() };

/** Who decides the approvals of a definition's runs. Durations in milliseconds. */
export const approverRule = z.strictObject({
  /** Absent, and no users named: approvers and administrators. */
  ...people,
  /** How many have to approve; one denial settles. */
  quorum: z.int().min(1).max(20).default(1),
  /** Whether whoever started the run may decide its approvals, where the rule names them. */
  selfApproval: z.enum(["allow", "forbid"]).default("allow"),
  /** Whether those whom it names may hand their say to somebody else for a time. */
  delegation: z.enum(["allow", "forbid"]).default("forbid"),
  /** How long before its expiry an approval that nobody decided is brought to mind. */
  remindBeforeMs: spanMs.optional(),
  /** From when on further people may decide as well, counted from the request. */
  escalation: z.strictObject({ afterMs: spanMs, to: z.strictObject(people) }).optional(),
});

export type ApproverRule = z.infer<typeof approverRule>;

/** What cannot work about a rule, in words: times that never come, and people whom nobody is. */
export function problemsOfApprovers(rule: ApproverRule | undefined, expiresMs: number | undefined): string[] {
  if (rule === undefined) return [];
  const { roles, users, quorum, remindBeforeMs, escalation } = rule;
  const remindAfterMs = expiresMs === undefined || remindBeforeMs === undefined ? 0 : expiresMs - remindBeforeMs;
  const named = roles === undefined && users === undefined ? undefined : (roles ?? []).length + (users ?? []).length;
  const isUsersOnly = (roles ?? []).length === 0 && users !== undefined && escalation === undefined;
  const checks: readonly (readonly [boolean, string])[] = [
    [named === 0, "approvers name nobody; leave out roles and users for approvers and administrators"],
    [isUsersOnly && quorum > users.length, `approvers ask for ${quorum} of ${users?.length} users`],
    [
      remindBeforeMs !== undefined && expiresMs === undefined,
      "approvers.remindBeforeMs is set and approvals do not expire; set approvalExpiresMs as well",
    ],
    [remindAfterMs < 0, "approvers.remindBeforeMs is longer than approvals wait"],
    [
      escalation !== undefined && expiresMs !== undefined && escalation.afterMs >= expiresMs,
      "approvers.escalation.afterMs comes after approvals have expired",
    ],
    [
      escalation !== undefined && escalation.afterMs < remindAfterMs,
      "approvers.escalation.afterMs comes before the reminder; remind first, then escalate",
    ],
    [
      escalation !== undefined && (escalation.to.roles ?? []).length + (escalation.to.users ?? []).length === 0,
      "approvers.escalation.to names nobody",
    ],
  ];
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}
