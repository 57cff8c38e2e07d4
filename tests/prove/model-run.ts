/** A call of the last turn, as the small model keeps it. */
export interface ModelCall {
  readonly id: string;
  readonly position: number;
  readonly effect: "read-only" | "once" | "question";
  /** A person was or is asked whether it may run. */
  readonly isGated: boolean;
  readonly hasDeadline: boolean;
  status: string;
  waitsOn: "approval" | "question" | "outcome" | null;
  attempt: number;
  /** The epoch it was begun under. */
  epoch: number;
  /** What a person is asked about it, the last one. */
  asked: ModelAsked | undefined;
}

export interface ModelAsked {
  readonly id: string;
  readonly kind: "approval" | "question" | "outcome";
  /** The policy of the run that it was judged under. */
  readonly policy: number;
  status: string;
  answer: string | undefined;
  by: string | undefined;
}

/** A run as the small model keeps it: what one can say of it without a database. */
export interface ModelRun {
  readonly id: string;
  end: "completed" | "failed" | "canceled" | undefined;
  isQuarantined: boolean;
  epoch: number;
  isReady: boolean;
  isLeased: boolean;
  claims: number;
  turns: number;
  steers: number;
  unread: number;
  calls: ModelCall[];
  /** The version of the run's own policy, 0 as long as it has none. */
  policy: number;
  isKilled: boolean;
  wasLifted: boolean;
  /** Every hold anybody had, the last one last. */
  readonly holds: { readonly epoch: number; readonly leaseId: string }[];
}

export function aModelRun(id: string): ModelRun {
  return {
    id,
    end: undefined,
    isQuarantined: false,
    epoch: 0,
    isReady: true,
    isLeased: false,
    claims: 0,
    turns: 0,
    steers: 0,
    unread: 0,
    calls: [],
    policy: 0,
    isKilled: false,
    wasLifted: false,
    holds: [],
  };
}

export function isSettled({ status, waitsOn }: ModelCall): boolean {
  return waitsOn === null && ["done", "failed", "denied", "canceled", "unknown"].includes(status);
}

/** `running`, `paused` and so on, derived as the design says and in no other way. */
export function statusOf(run: ModelRun): string {
  if (run.end !== undefined) return run.end;
  if (run.isQuarantined || run.calls.some((call) => call.waitsOn !== null)) return "paused";
  return run.epoch === 0 ? "queued" : "running";
}

/** Nothing is left to do for a worker until somebody brings something. */
export function isIdle(run: ModelRun): boolean {
  if (run.end !== undefined || run.isQuarantined) return true;
  const isBusy = run.calls.some(({ status }) => status === "requested" || status === "executing");
  return statusOf(run) === "paused" && !isBusy;
}

/** Somebody who does not hold the run has changed it. */
export function wake(run: ModelRun): void {
  if (run.end === undefined && !run.isQuarantined) run.isReady = true;
}

/** The holder has changed it: it takes the news, or lets go where nothing is left to do. */
export function settle(run: ModelRun): void {
  run.claims = 0;
  if (isIdle(run) && !run.isReady) run.isLeased = false;
  run.isReady = false;
}

/** A worker takes the run, or its news; what was approved under the policy of now begins with it. */
export function take(run: ModelRun): void {
  if (!run.isLeased) {
    run.epoch += 1;
    run.claims += 1;
    run.isLeased = true;
  }
  run.isReady = false;
  for (const call of run.calls) {
    const { asked } = call;
    const isApproved = asked?.kind === "approval" && asked.status === "approved" && call.attempt === 0;
    if (call.status === "requested" && isApproved && asked.policy === run.policy && !run.isKilled) begin(run, call);
  }
}

export function begin(run: ModelRun, call: ModelCall): void {
  call.status = "executing";
  call.attempt += 1;
  call.epoch = run.epoch;
}

/** It ends without having completed: what may have happened outside stays unknown, the rest is canceled. */
export function cutShort(run: ModelRun, end: "failed" | "canceled"): void {
  run.end = end;
  run.epoch += 1;
  run.isLeased = false;
  run.isReady = false;
  run.isQuarantined = false;
  run.unread = 0;
  for (const call of run.calls) {
    if (isSettled(call)) continue;
    const mayHaveHappened = call.status === "unknown" || (call.status === "executing" && call.effect === "once");
    call.status = mayHaveHappened ? "unknown" : "canceled";
    if (call.waitsOn !== null && call.asked !== undefined) call.asked.status = "canceled";
    call.waitsOn = null;
  }
}

/** What the database has to show of the run. */
export function viewOf(run: ModelRun): object {
  return {
    status: statusOf(run),
    isReady: run.isReady,
    isLeased: run.isLeased,
    epoch: run.epoch,
    turns: run.turns,
    steers: run.steers,
    unread: run.unread,
    calls: run.calls.map(({ status, waitsOn, attempt, asked }) => ({
      status,
      waitsOn,
      attempt,
      asked: asked === undefined ? null : asked.status,
    })),
  };
}
