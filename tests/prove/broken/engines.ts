import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { repositoryRoot } from "../../support/repository.ts";
import { applyPatches, type Patch } from "./patch.ts";

/** An engine with one known fault, and the proof that has to notice it. */
export interface BrokenEngine {
  readonly fault: string;
  readonly patches: readonly Patch[];
  /** The proof and its arguments. */
  readonly proof: readonly string[];
}

const engine = "packages/engine/src";

export const brokenEngines: Readonly<Record<string, BrokenEngine>> = {
  "decide-without-lock": {
    fault: "a decision does not lock the run",
    proof: ["races", "--only=approve,deny,cancel"],
    patches: [
      {
        file: `${engine}/commits/decide-approval.sql`,
        from: "locked    uuid[] := lock_runs(p_runs, p_blocking);",
        to: "locked    uuid[] := p_runs;",
      },
    ],
  },
  "claim-after-call": {
    fault: "the effect is claimed when the call is over",
    proof: ["crash", "--only=mail"],
    patches: [
      {
        // The claim begins nothing, so that the worker does.
        file: `${engine}/sql/startable-calls.sql`,
        from: "   where r.id = any (p_ids)\n     and c.status = 'requested'",
        to: "   where r.id = any (p_ids) and false\n     and c.status = 'requested'",
      },
      {
        file: `${engine}/committer.ts`,
        from: "  return async (kind, transition) => {\n    const outcome = await groupOf(kind)(transition);",
        to: `  const late = new Map<string, () => Promise<unknown>>();
  return async (kind, transition) => {
    const { callId } = transition as { callId: string };
    if (kind.name === "begin_call") {
      late.set(callId, () => groupOf(kind)(transition));
      return { kind: "begun" } as never;
    }
    if (kind.name === "complete_call") await late.get(callId)?.();
    const outcome = await groupOf(kind)(transition);`,
      },
      {
        // What a credential is lent for is looked up by what was claimed.
        file: "packages/broker/src/lease.ts",
        from: "",
        to: "",
      },
    ],
  },
  "ready-in-second-transaction": {
    fault: "a decision makes the run ready in a second transaction",
    proof: ["crash", "--only=server"],
    patches: [
      {
        file: `${engine}/commits/decide-approval.sql`,
        from: "  perform wake_runs(array_agg(a.run_id), array_agg(1)) from approvals a where a.id = any (deciding);",
        to: `  perform wake_runs(array_agg(a.run_id), array_agg(1)) from approvals a where a.id = any (deciding);
  update runs r set ready_at = null from approvals a where a.id = any (deciding) and r.id = a.run_id;`,
      },
      {
        file: "apps/server/src/idempotency.ts",
        from: "  if (wakes) ring();",
        to: "  if (wakes) await sql`update runs set ready_at = clock_timestamp() where ready_at is null and status = 'running' and lease_id is null`;\n  if (wakes) ring();",
      },
    ],
  },
  "status-without-card": {
    fault: "a run waits for an approval that has no card",
    proof: ["model", "--sequences=30"],
    patches: [
      {
        file: `${engine}/sql/open-approvals.sql`,
        from: "    join runs r on r.id = c.run_id;\nend",
        to: "    join runs r on r.id = c.run_id\n   where false;\nend",
      },
    ],
  },
  "lock-and-guard-in-one-statement": {
    fault: "a decision locks the run in the statement that looks whether it may decide",
    proof: ["races", "--only=approve,deny,cancel"],
    patches: [
      {
        file: `${engine}/commits/decide-approval.sql`,
        from: "locked    uuid[] := lock_runs(p_runs, p_blocking);",
        to: "locked    uuid[] := p_runs;",
      },
      {
        file: `${engine}/commits/decide-approval.sql`,
        from: "    join policy_of(locked) p on p.run_id = n.run\n    left join approvals a ",
        to: `    join (select r.id from runs r where r.id = any (p_runs) order by r.depth, r.id for no key update) l on l.id = n.run
    join policy_of(locked) p on p.run_id = n.run
    left join approvals a `,
      },
    ],
  },
  "siblings-in-one-batch": {
    fault: "two transitions of one run travel in one batch",
    proof: ["model", "--sequences=60"],
    patches: [
      {
        file: "packages/db/src/group-commit.ts",
        from: "      for (const key of member.keys) taken.add(key);",
        to: "",
      },
    ],
  },
};

/** Replaces the SQL functions that are broken. */
export async function patchFunctions(url: string, { patches }: BrokenEngine): Promise<void> {
  const files = [...new Set(patches.map(({ file }) => file))].filter((file) => file.endsWith(".sql"));
  const sql = connect(url, { max: 1, applicationName: "broken engine" });
  for (const file of files) await sql.unsafe(applyPatches(file, readFileSync(join(repositoryRoot, file), "utf8"), patches));
  await sql.end();
}

/** Lets this process load the broken modules, and answers the options that make another one do so. */
export function patchModules({ patches }: BrokenEngine): string {
  const modules = patches.filter(({ file }) => file.endsWith(".ts"));
  return modules.length === 0 ? "" : loadBroken(modules, registerHooks);
}
