import { askModel } from "./ask-model.ts";
import { failRun } from "./commits/fail-run.ts";
import { type RecordTurn, recordTurn } from "./commits/record-turn.ts";
import type { Engine, HeldRun } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import { displayText, stringifyExact } from "./exact-text.ts";
import { insist } from "./insist.ts";
import type { ModelReply, ModelRequest } from "./model.ts";
import { advertisedTools, policyOf, timeOf } from "./policy.ts";
import { proposeCalls } from "./propose.ts";
import type { LoggedMessage, RecordedCall, RunSnapshot } from "./run-snapshot.ts";
import { scrubHeld } from "./scrub-held.ts";
import { streamDeltas } from "./stream-deltas.ts";
import { isTooLong, summarizeIfDue, withShortResults } from "./summarize.ts";

export type TurnReport = { readonly kind: "recorded" | "parked" | "ended" | "lost" | "held" | "stale" };

/**
 * One turn: builds the prompt from the record, asks the model, puts what it asks for before the gate, and records all of
 * it with its continuation in one commit. Where the model cannot be had or answers nonsense the run fails and says why.
 */
export async function takeTurn(engine: Engine, held: HeldRun): Promise<TurnReport> {
  const { definition, abort } = held;
  let asked: Asked;
  try {
    asked = await ask(engine, held);
  } catch (error) {
    if (abort.signal.aborted) return { kind: "lost" };
    return await failWith(engine, held, error);
  }
  if (asked.kind !== "said") return asked;

  const { reply } = asked;
  const { snapshot } = held;
  const policy = policyOf(snapshot, definition);
  const uses = reply.content.filter((block) => block.type === "tool_use");
  const { display } = await scrubHeld(engine, held);
  const text = reply.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const { callCount } = snapshot;
  const proposal = proposeCalls(uses, definition, policy, engine.tools, timeOf(snapshot), callCount, text, display);
  if (proposal.kind === "held") return { kind: "held" };

  const turn: RecordTurn = {
    ...held.hold,
    turn: snapshot.turns,
    content: stringifyExact(
      reply.content.map((block) =>
        block.type === "tool_use" ? { type: block.type, id: block.id, name: block.name } : block,
      ),
    ),
    steersRead: snapshot.steers.at(-1)?.n ?? 0,
    usage: reply.usage,
    calls: proposal.calls,
    ...(uses.length === 0 ? { output: stringifyExact(text) } : {}),
  };
  const outcome = await insist(abort.signal, () => engine.commit(recordTurn, turn));
  switch (outcome.kind) {
    case "finished":
      return { kind: "ended" };
    case "lease_lost":
      return { kind: "lost" };
    case "already":
      return { kind: "stale" };
    case "recorded":
    case "unread":
      held.snapshot = withTurn(snapshot, turn, outcome.seq, held.hold.epoch);
      if (outcome.isParked) return { kind: "parked" };
      return { kind: outcome.hasNews || outcome.kind === "unread" ? "stale" : "recorded" };
  }
}

type Asked =
  | { readonly kind: "said"; readonly reply: ModelReply }
  /** The record has moved on, or is somebody else's, while a summary was made. */
  | { readonly kind: "stale" | "lost" };

/**
 * Asks the model with a prompt that it takes: summarized before where it is due, and where the model says it must be. What
 * no summary can make shorter, since the model has not seen it yet, is its last turn: at last its results are shortened.
 */
async function ask(engine: Engine, held: HeldRun): Promise<Asked> {
  const request = requestOf(engine, held);
  const due = await summarizeIfDue(engine, held, request);
  if (due.kind === "stale" || due.kind === "lost") return due;
  const shorter = due.kind === "recorded" ? requestOf(engine, held) : request;
  try {
    return { kind: "said", reply: await askShown(engine, held, shorter) };
  } catch (error) {
    if (!isTooLong(error)) throw error;
    const forced = await summarizeIfDue(engine, held, shorter, true);
    if (forced.kind === "stale" || forced.kind === "lost") return forced;
    const last = requestOf(engine, held);
    if (forced.kind === "recorded") {
      try {
        return { kind: "said", reply: await askShown(engine, held, last) };
      } catch (still) {
        if (!isTooLong(still)) throw still;
      }
    }
    return {
      kind: "said",
      reply: await askShown(engine, held, { ...last, messages: withShortResults(last.messages) }),
    };
  }
}

/** Asks the model, and shows what it says to whoever watches while it says it. */
async function askShown(engine: Engine, held: HeldRun, request: ModelRequest): Promise<ModelReply> {
  const { snapshot, hold, abort, conversation } = held;
  const problem = conversation.findProblem(request.messages);
  if (problem !== undefined)
    throw new EngineError("invalid_prompt", `The conversation of this run is not one a provider accepts: ${problem}`);
  const deltas = streamDeltas({
    sql: engine.sql,
    hold,
    turn: snapshot.turns,
    createScrub: async () => (await scrubHeld(engine, held)).createStream(),
  });
  try {
    return await askModel(engine, request, {
      signal: abort.signal,
      usedIds: conversation.callsOf(snapshot).usedIds,
      onDelta: deltas.push,
      scrub: () => scrubHeld(engine, held),
      scrubRequest: conversation.scrubRequest,
    });
  } finally {
    await deltas.end();
  }
}

function requestOf(engine: Engine, { snapshot, definition, conversation }: HeldRun): ModelRequest {
  return {
    workspaceId: snapshot.workspaceId,
    runId: snapshot.id,
    definition: definition.name,
    model: definition.model,
    system: definition.instructions,
    messages: conversation.messagesOf(snapshot),
    tools: advertisedTools(definition, policyOf(snapshot, definition), timeOf(snapshot), engine.tools),
    maxOutputTokens: definition.maxOutputTokens,
  };
}

async function failWith(engine: Engine, held: HeldRun, error: unknown): Promise<TurnReport> {
  engine.report({ kind: "run.failed", runId: held.hold.runId, error });
  // Only texts of our own are shown: a provider's may quote its request.
  const reason =
    error instanceof EngineError ? error.message : "the model could not be asked; the operator's log says why";
  const scrub = await scrubHeld(engine, held);
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(failRun, { ...held.hold, reason: `error: ${displayText(scrub.text(reason), 2_000)}` }),
  );
  return { kind: outcome.kind === "failed" ? "ended" : "lost" };
}

/** The snapshot as the commit left it, without asking the database for what we have just told it. */
function withTurn(snapshot: RunSnapshot, turn: RecordTurn, seq: number, epoch: number): RunSnapshot {
  const firstSteer = seq - snapshot.steers.length;
  const steers = snapshot.steers.map(({ content }, index): LoggedMessage => ({
    seq: firstSteer + index,
    kind: "user",
    content,
  }));
  const calls = turn.calls.map((call): RecordedCall => {
    const { next, ...told } = call;
    const isSettled = next.kind === "settled";
    return {
      ...told,
      turnSeq: seq,
      status: isSettled ? next.status : next.kind === "run" ? "requested" : "waiting",
      waitsOn: next.kind === "approval" || next.kind === "question" ? next.kind : null,
      attempt: 0,
      epoch,
      result: isSettled ? next.result : null,
      resultCode: isSettled ? next.code : null,
      approval: null,
    };
  });
  const tokens = turn.usage.inputTokens + turn.usage.outputTokens;
  return {
    ...snapshot,
    turns: snapshot.turns + 1,
    callCount: snapshot.callCount + calls.length,
    inputTokens: snapshot.inputTokens + turn.usage.inputTokens,
    outputTokens: snapshot.outputTokens + turn.usage.outputTokens,
    costMicros: snapshot.costMicros + turn.usage.costMicros,
    messages: [...snapshot.messages, ...steers, { seq, kind: "assistant", content: turn.content, tokens }],
    calls: [...snapshot.calls, ...calls],
    steers: [],
  };
}
