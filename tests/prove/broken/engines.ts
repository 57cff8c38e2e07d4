import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { applyPatches, type Patch } from "./patch.ts";
import { loadBroken } from "./load-broken.ts";

/** An engine with one known fault, and the proof that has to notice it. */
export interface BrokenEngine {
  readonly fault: string;
  readonly patches: readonly Patch[];
  /** The proof and its arguments. */
  readonly proof: readonly string[];
}

const root = join(import.meta.dirname, "../../..");
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
    proof: ["crash", "--only=mail", "--at=message"],
    patches: [
      {
        // The claim begins nothing, so that the worker does.
        file: `${engine}/sql/startable-calls.sql`,
        from: "     and c.status = 'requested'\n     and c.effect <> 'transactional'",
        to: "     and false\n     and c.effect <> 'transactional'",
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
        // The broker lends a credential to what was claimed, and would not have it.
        file: "packages/broker/src/lease.ts",
        from: "c.status = 'executing' and c.epoch = r.epoch as is_executing",
        to: "true as is_executing",
      },
      {
        file: "packages/broker/src/lease.ts",
        from: "l.call_id is not null as is_leased",
        to: "true as is_leased",
      },
    ],
  },
  "ready-in-second-transaction": {
    fault: "a decision makes the run ready in a second transaction",
    proof: ["crash", "--only=server", "--at=update runs set"],
    patches: [
      {
        file: `${engine}/commits/decide-approval.sql`,
        from: "\n  if voting is not null then\n    perform note_runs(",
        to: `
  update runs r set ready_at = null from approvals a where a.id = any (deciding) and r.id = a.run_id;
  if voting is not null then
    perform note_runs(`,
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
        from: "limit 1) r;\n\n  -- Judged",
        to: "limit 1) r\n   where false;\n\n  -- Judged",
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
        from: "    left join policy_of(locked) p on p.run_id = n.run\n    left join approvals a ",
        to: `    join (select r.id from runs r where r.id = any (p_runs) order by r.depth, r.id for no key update) l on l.id = n.run
    left join policy_of(locked) p on p.run_id = n.run
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
export async function patchFunctions(url: string, name: string): Promise<void> {
  const { connect } = await import("@countersign/db/connect.ts");
  const { patches } = engineNamed(name);
  const files = new Set(patches.map(({ file }) => file).filter((file) => file.endsWith(".sql")));
  const sql = connect(url, { max: 1, applicationName: "broken engine" });
  for (const file of files) await sql.unsafe(applyPatches(file, readFileSync(join(root, file), "utf8"), patches));
  await sql.end();
}

/** From now on this process loads the broken modules; answers the options that make another one do so. */
export function patchModules(name: string): string {
  const { patches } = engineNamed(name);
  if (!patches.some(({ file }) => file.endsWith(".ts"))) return "";
  loadBroken(patches);
  return `--import=${pathToFileURL(join(import.meta.dirname, "preload.ts")).href}?${name}`;
}

function engineNamed(name: string): BrokenEngine {
  const found = brokenEngines[name];
  if (found !== undefined) return found;
  throw new Error(`There is no broken engine ${name}; there are: ${Object.keys(brokenEngines).join(", ")}`);
}
