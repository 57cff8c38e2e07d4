import { decide } from "@countersign/gate/decide.ts";
import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Verdict } from "@countersign/gate/types.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as uuidv7 } from "uuid";
import { approvalCard } from "./card.ts";
import { type SupersedeApproval, supersedeApproval } from "./commits/supersede-approval.ts";
import type { Definition } from "./definition.ts";
import type { Engine } from "./engine.ts";
import { stringifyExact } from "./exact-text.ts";
import { policyOf } from "./policy.ts";
import { type RecordedCall, readSnapshot, type RunSnapshot } from "./run-snapshot.ts";

const openApprovals = `
  select a.id, a.run_id as "runId", a.policy_versions <> p.versions and p.killed is null as "isStale"
    from (select id, run_id, policy_versions
            from approvals
           where status = 'pending' and kind = 'approval' and ($1::uuid is null or id < $1)
           order by id desc
           limit $2) a
   cross join lateral policy_of(array[a.run_id]) p
   order by a.id desc`;

/** A mark that moves whenever any policy does; comparing it is what a sweep costs while nothing changed. */
export async function readPolicyMark(sql: Queryable): Promise<string> {
  const [row] = await sql.unsafe<{ mark: string }[]>(
    "select coalesce(sum(version), 0)::text as mark from policies",
    [],
    { prepare: true },
  );
  return row?.mark ?? "";
}

/** What one pass over a window of open approvals came to. */
export interface Regated {
  readonly judged: number;
  /** Where the next window begins; undefined where there is none. */
  readonly next: string | undefined;
}

/**
 * Looks at up to `limit` open approvals, newest first, from before the approval `before` on. Afterwards those of an older
 * policy have been judged again, each under its own run's lock: superseded where the answer is another now, else marked
 * as judged. One that cannot be is reported, and harms no other.
 */
export async function regateApprovals(engine: Engine, before: string | undefined, limit: number): Promise<Regated> {
  const open = await engine.sql.unsafe<{ id: string; runId: string; isStale: boolean }[]>(
    openApprovals,
    [before ?? null, limit],
    { prepare: true },
  );
  let judged = 0;
  for (const { id, runId, isStale } of open) {
    if (!isStale) continue;
    try {
      const snapshot = await readSnapshot(engine.sql, runId);
      const call = snapshot.calls.find((one) => one.approval?.id === id && one.approval.status === "pending");
      if (call?.approval == null) continue;
      const definition = await engine.definitionOf(snapshot.definitionId, snapshot.definitionVersion);
      const { display } = await engine.scrubberOf(runId);
      await engine.commit(supersedeApproval, judgeAgain(engine, snapshot, definition, call, call.approval, display));
      judged += 1;
    } catch (error) {
      // Whoever decides on it meets the second look.
      engine.report({ kind: "sweep.failed", error });
    }
  }
  return { judged, next: open.length < limit ? undefined : open.at(-1)?.id };
}

function judgeAgain(
  engine: Engine,
  snapshot: RunSnapshot,
  definition: Definition,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
  display: (text: string) => string,
): SupersedeApproval {
  const tool = engine.tools.get(call.tool)?.tool;
  const verdict = decide({ tool, name: call.tool, argsText: call.args }, policyOf(snapshot, definition), new Date());
  return {
    runId: snapshot.id,
    approvalId: approval.id,
    seenVersions: approval.policyVersions,
    policyVersions: snapshot.policyVersions,
    gateRow: verdict.row,
    gateReason: verdict.reason,
    next: nextOf(verdict, call, approval, definition, tool, display),
  };
}

function nextOf(
  verdict: Verdict,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
  definition: Definition,
  tool: Parameters<typeof approvalCard>[1],
  display: (text: string) => string,
): SupersedeApproval["next"] {
  const code = codeOfVerdict(verdict);
  if (code !== undefined)
    return { kind: "deny", code, result: stringifyExact(textOfVerdict(verdict, call.tool) ?? code) };
  if (verdict.verdict === "held") return { kind: "keep" };
  if (verdict.verdict === "allow") return { kind: "allow" };
  const isSame = verdict.row === approval.gateRow && verdict.reason === approval.gateReason;
  const isShown = (verdict.floorReasons ?? []).every((reason) => approval.shownReasons?.includes(reason));
  if (isSame && isShown) return { kind: "keep" };
  const card = approvalCard(
    { name: call.tool, args: call.args, argsHash: call.argsHash, requires: call.requires },
    tool,
    verdict,
    display,
  );
  return { kind: "ask", approvalId: uuidv7(), card, expiresMs: definition.approvalExpiresMs };
}
