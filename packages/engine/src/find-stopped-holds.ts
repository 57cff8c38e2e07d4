import type { Queryable } from "@countersign/db/connect.ts";
import type { Hold } from "./held-run.ts";
import { togetherOrAlone } from "./together.ts";

export interface StoppedHold {
  readonly runId: string;
  readonly leaseId: string;
  /**
   * `lost`: canceled, failed by recovery, or another's by now. `killed`: ours still, but nothing under its scope may run.
   * `judged_anew`: policy has moved since the run was read, so what it does next is to be judged by the newer one.
   */
  readonly kind: "lost" | "killed" | "judged_anew";
}

const find = `
  select h.run as "runId", h.lease as "leaseId",
         case when r.lease_id is distinct from h.lease then 'lost' when p.killed is not null then 'killed' else 'judged_anew' end as kind
    from unnest($1::uuid[], $2::uuid[], $3::text[]) h (run, lease, versions)
    join runs r on r.id = h.run
    join policy_of($1::uuid[]) p on p.run_id = r.id
   where r.lease_id is distinct from h.lease or p.killed is not null or p.versions <> h.versions`;

type PolicyHold = Hold & { readonly policyVersions: string };

/** Of the given holds, those whose work must stop now or look at the run's policy again; one that cannot be read hides no other. Read only. */
export async function findStoppedHolds(sql: Queryable, holds: readonly PolicyHold[]): Promise<readonly StoppedHold[]> {
  const send = async (some: readonly PolicyHold[]): Promise<readonly StoppedHold[]> => {
    const runs = some.map((hold) => hold.runId);
    const leases = some.map((hold) => hold.leaseId);
    const versions = some.map((hold) => hold.policyVersions);
    return await sql.unsafe<StoppedHold[]>(find, [runs, leases, versions], { prepare: true });
  };
  return await togetherOrAlone({
    together: () => send(holds),
    members: async () => holds,
    alone: (hold) => send([hold]),
    onFailure: () => undefined,
  });
}
