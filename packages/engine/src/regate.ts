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

const staleApprovals = `
  select a.id, a.run_id
    from approvals a
    join runs r on r.id = a.run_id
    join policy_of(array(select distinct o.run_id from approvals o where o.status = 'pending' and o.kind = 'approval')) p on p.run_id = a.run_id
   where a.status = 'pending' and a.kind = 'approval' and a.policy_versions <> p.versions and p.killed is null
   order by a.id desc
   limit $1`;

/** A mark that moves whenever any policy does; comparing it is what a sweep costs while nothing changed. */
export async function readPolicyMark(sql: Queryable): Promise<string> {
  const [row] = await sql.unsafe<{ mark: string }[]>(
    "select coalesce(sum(version), 0)::text as mark from policies",
    [],
    { prepare: true },
  );
  return row?.mark ?? "";
}

/**
 * Afterwards up to `limit` open approvals of an older policy have been judged again, newest first, each under its own
 * run's lock: superseded where the answer is another now, else marked as judged. Returns how many were judged; one that
 * cannot be is reported, and harms no other.
 */
export async function regateApprovals(engine: Engine, limit: number): Promise<number> {
  const stale = await engine.sql.unsafe<{ id: string; run_id: string }[]>(staleApprovals, [limit], { prepare: true });
  let judged = 0;
  for (const { id, run_id: runId } of stale) {
    try {
      const snapshot = await readSnapshot(engine.sql, runId);
      const call = snapshot.calls.find((one) => one.approval?.id === id && one.approval.status === "pending");
      if (call?.approval == null) continue;
      const definition = await engine.definitionOf(snapshot.definitionId, snapshot.definitionVersion);
      await engine.commit(supersedeApproval, judgeAgain(engine, snapshot, definition, call, call.approval));
      judged += 1;
    } catch (error) {
      // Whoever decides on it meets the second look.
      engine.report({ kind: "sweep.failed", error });
    }
  }
  return judged;
}

function judgeAgain(
  engine: Engine,
  snapshot: RunSnapshot,
  definition: Definition,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
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
    next: nextOf(verdict, call, approval, definition, tool),
  };
}

function nextOf(
  verdict: Verdict,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
  definition: Definition,
  tool: Parameters<typeof approvalCard>[1],
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
  );
  return { kind: "ask", approvalId: uuidv7(), card, expiresMs: definition.approvalExpiresMs };
}
