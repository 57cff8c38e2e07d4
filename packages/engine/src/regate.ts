import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Verdict } from "@countersign/gate/types.ts";
import { v7 as uuidv7 } from "uuid";
import { inputOf } from "./call-input.ts";
import { approvalCard, type CallOnCard } from "./card.ts";
import { noteRegated } from "./commits/note-regated.ts";
import { type SupersedeApproval, supersedeApproval } from "./commits/supersede-approval.ts";
import { takePolicyChange } from "./commits/take-policy-change.ts";
import type { Definition } from "./definition.ts";
import type { Engine } from "./engine.ts";
import { stringifyExact } from "./exact-text.ts";
import { judgeCall } from "./judge-call.ts";
import { policyOf, timeOf } from "./policy.ts";
import { type RecordedCall, readSnapshot, type RunSnapshot } from "./run-snapshot.ts";
import type { Scrub } from "./scrub.ts";
import { readShownCard } from "./shown-details.ts";

/**
 * Open approvals that a change touches, newest first. Those that were judged under the newest policy are among them: where
 * the window ends is not to depend on how many there are.
 */
const openApprovals = `
  select a.id, a.run_id as "runId", a.policy_versions <> p.versions and p.killed is null as "isStale"
    from (select a.id, a.run_id, a.policy_versions
            from approvals a
            join tool_calls c on c.id = a.call_id
            join runs r       on r.id = a.run_id
           where a.status = 'pending' and a.kind = 'approval'
             and ($1::uuid is null or a.workspace_id = $1)
             and $2::uuid in ('00000000-0000-0000-0000-000000000000', a.workspace_id, r.definition_id, r.id)
             and ($3::text[] is null or c.tool = any ($3))
             and ($4::uuid is null or a.id < $4)
           order by a.id desc
           limit $5) a
   cross join lateral policy_of(array[a.run_id]) p
   order by a.id desc`;

/**
 * Takes changes of policy one by one and judges the open approvals that they touch again, newest first, each under its own
 * run's lock: up to `limit` of them, and the next sweep goes on from there. Afterwards each of those is superseded where
 * the answer is another now, else marked as judged; one whose tool is not here stays as it is. One that cannot be judged is
 * reported, and harms no other. Answers how
 * many were judged.
 */
export async function regateApprovals(engine: Engine, limit: number): Promise<number> {
  let room = limit;
  let judged = 0;
  while (room > 0) {
    const change = await takePolicyChange(engine.sql);
    if (change === undefined) break;
    const { id, workspaceId, scopeId, tools, nextId } = change;
    const open = await engine.sql.unsafe<{ id: string; runId: string; isStale: boolean }[]>(
      openApprovals,
      [workspaceId ?? null, scopeId, tools?.slice() ?? null, nextId ?? null, room],
      { prepare: true },
    );
    for (const { id: approvalId, runId, isStale } of open) {
      if (isStale && (await regate(engine, runId, approvalId))) judged += 1;
    }
    await noteRegated(engine.sql, id, open.length < room ? undefined : open.at(-1)?.id);
    room -= open.length;
  }
  return judged;
}

async function regate(engine: Engine, runId: string, approvalId: string): Promise<boolean> {
  try {
    const snapshot = await readSnapshot(engine.sql, runId);
    const call = snapshot.calls.find((one) => one.approval?.id === approvalId && one.approval.status === "pending");
    if (call?.approval == null) return false;
    // Nobody can say without it what the answer would be; whoever has the tool meets the second look.
    if (!engine.tools.has(call.tool)) return false;
    const definition = await engine.definitionOf(snapshot.definitionId, snapshot.definitionVersion);
    const { display } = await engine.scrubberOf(runId);
    const shown = await readShownCard(engine.sql, approvalId);
    await engine.commit(
      supersedeApproval,
      judgeAgain(engine, snapshot, definition, call, call.approval, shown, display),
    );
    return true;
  } catch (error) {
    // Whoever decides on it meets the second look.
    engine.report({ kind: "sweep.failed", error });
    return false;
  }
}

function judgeAgain(
  engine: Engine,
  snapshot: RunSnapshot,
  definition: Definition,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
  shown: Pick<CallOnCard, "proposal" | "options" | "narration">,
  display: Scrub["display"],
): SupersedeApproval {
  const registered = engine.tools.get(call.tool);
  const verdict = judgeCall(call, registered, policyOf(snapshot, definition), timeOf(snapshot));
  return {
    runId: snapshot.id,
    approvalId: approval.id,
    seenVersions: approval.policyVersions,
    policyVersions: snapshot.policyVersions,
    gateRow: verdict.row,
    gateReason: verdict.reason,
    next: nextOf(verdict, call, approval, shown, definition, registered?.tool, display),
  };
}

function nextOf(
  verdict: Verdict,
  call: RecordedCall,
  approval: NonNullable<RecordedCall["approval"]>,
  shown: Pick<CallOnCard, "proposal" | "options" | "narration">,
  definition: Definition,
  tool: Parameters<typeof approvalCard>[1],
  display: Scrub["display"],
): SupersedeApproval["next"] {
  const code = codeOfVerdict(verdict);
  if (code !== undefined)
    return { kind: "deny", code, result: stringifyExact(textOfVerdict(verdict, call.tool) ?? code) };
  if (verdict.verdict === "held") return { kind: "keep" };
  if (verdict.verdict === "allow") return { kind: "allow" };
  const isSame = verdict.row === approval.gateRow && verdict.reason === approval.gateReason;
  const isShown = (verdict.floorReasons ?? []).every((reason) => approval.shownReasons?.includes(reason));
  if (isSame && isShown) return { kind: "keep" };
  const { argsText, argsHash, isEdited } = inputOf(call);
  const onCard = { ...shown, name: call.tool, args: argsText, argsHash, isEdited, requires: call.requires };
  const card = approvalCard(onCard, tool, verdict, display);
  return { kind: "ask", approvalId: uuidv7(), card, expiresMs: definition.approvalExpiresMs };
}
