import type { Queryable } from "@countersign/db/connect.ts";
import type { Classified } from "@countersign/gate/types.ts";
import { askModel } from "./ask-model.ts";
import { inputOf } from "./call-input.ts";
import { classificationRequest, mostRequests, promptVersion, readClassification } from "./classifier-prompt.ts";
import { classifyCall as classifyCallCommit } from "./commits/classify-call.ts";
import type { Engine, HeldRun } from "./engine.ts";
import { displayText, parseExact, stringifyExact } from "./exact-text.ts";
import { insist } from "./insist.ts";
import { judgeCall } from "./judge-call.ts";
import type { ModelReply } from "./model.ts";
import { policyOf, timeOf } from "./policy.ts";
import type { RecordedCall, StoredClassification } from "./run-snapshot.ts";
import type { RegisteredTool } from "./tools.ts";

export type ClassifyOutcome =
  | { readonly kind: "classified"; readonly call: RecordedCall }
  /** The run is not ours any more. */
  | { readonly kind: "lost" | "lease_lost" }
  /** The call is no longer one to go on with. */
  | { readonly kind: "settled" };

/** How long a person's words count as those of somebody who is there. */
const atKeyboardMs = 15 * 60_000;

/** An answer that takes longer is none. */
const usualTimeoutMs = 15_000;

const typedMessages = `
  select content
    from (select l.content, l.at
            from runs r
            join run_log l on l.run_id = r.id and l.seq = 1 and l.kind = 'user'
           where r.id = $1 and r.is_typed
           union all
          select s.content, s.sent_at
            from steers s
            join runs r on r.id = s.run_id and r.started_by = s.author
           where s.run_id = $1 and s.is_typed) m
   where m.at > clock_timestamp() - $2::bigint * interval '1 millisecond'
   order by m.at desc
   limit $3`;

/**
 * Asks the cheap model how risky a call is, outside any transaction, and stores what it said with the call: bound to the
 * arguments and the prompt, with what it cost apart from the run's totals. Fails closed: an error, a timeout and any
 * answer but the two exact words lower nothing. The call is returned as it is recorded now.
 */
export async function classifyCall(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
): Promise<ClassifyOutcome> {
  const { definition, abort } = held;
  const { argsText, argsHash } = inputOf(call);
  const model = definition.classifierModel ?? definition.model;
  const startedAt = performance.now();
  const answer = await askForLevel(engine, held, model, call.tool, argsText);
  if (abort.signal.aborted) return { kind: "lost" };
  const latencyMs = Math.round(performance.now() - startedAt);

  const classified: StoredClassification = { level: answer.level, argsHash, promptVersion, model };
  const judged = withClassification(call, classified);
  const verdict = judgeCall(judged, registered, policyOf(held.snapshot, definition), timeOf(held.snapshot));
  const { usage } = answer;
  const outcome = await insist(abort.signal, () =>
    engine.commit(classifyCallCommit, {
      ...held.hold,
      callId: call.id,
      classified: stringifyExact(classified),
      verdict: verdict.verdict,
      gateRow: verdict.row,
      gateReason: displayText(verdict.reason, 1_000),
      line: stringifyExact({ purpose: "classifier", level: answer.level, model, promptVersion, latencyMs }),
      usage,
    }),
  );
  return outcome.kind === "classified" ? { kind: "classified", call: judged } : { kind: outcome.kind };
}

interface Answer {
  readonly level: Classified["level"];
  readonly usage: ModelReply["usage"];
}

const noUsage = { inputTokens: 0, outputTokens: 0, costMicros: 0 };

async function askForLevel(
  engine: Engine,
  held: HeldRun,
  model: string,
  tool: string,
  argsText: string,
): Promise<Answer> {
  const signal = AbortSignal.any([
    held.abort.signal,
    AbortSignal.timeout(engine.classifierTimeoutMs ?? usualTimeoutMs),
  ]);
  try {
    const requests = await readTypedMessages(engine.sql, held.hold.runId);
    const request = classificationRequest(
      {
        workspaceId: held.snapshot.workspaceId,
        runId: held.hold.runId,
        definition: held.definition.name,
        model,
      },
      { tool, argsText, requests },
    );
    if (request === undefined) return { level: "high", usage: noUsage };
    const reply = await orAborted(askModel(engine, request, { signal, usedIds: new Set() }), signal);
    return { level: readClassification(reply), usage: reply.usage };
  } catch (error) {
    if (!held.abort.signal.aborted) engine.report({ kind: "classifier.failed", runId: held.hold.runId, tool, error });
    return { level: "unavailable", usage: noUsage };
  }
}

/** A model that does not look at its signal is not waited for either. */
async function orAborted<T>(asking: Promise<T>, signal: AbortSignal): Promise<T> {
  asking.catch(() => undefined);
  return await new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped"));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    asking.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The latest words of whoever the run acts for, where they were signed in themselves and are there; newest first. */
async function readTypedMessages(sql: Queryable, runId: string): Promise<string[]> {
  const rows = await sql.unsafe<{ content: string }[]>(typedMessages, [runId, atKeyboardMs, mostRequests], {
    prepare: true,
  });
  return rows.map(({ content }) => parseExact<string>(content));
}

function withClassification(call: RecordedCall, classified: StoredClassification): RecordedCall {
  const amended = call.amended ?? { args: null, argsHash: null, selectedOption: null, classified: null };
  return { ...call, amended: { ...amended, classified } };
}
