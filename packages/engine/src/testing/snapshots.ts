import { nothingStored } from "../stored-policy.ts";
import type { RecordedCall, RunSnapshot } from "../run-snapshot.ts";

/** A call as a snapshot has it; by default a settled read. */
export function aRecordedCall(over: Partial<RecordedCall> = {}): RecordedCall {
  return {
    id: "call",
    turnSeq: 2,
    position: 0,
    providerId: "toolu_1",
    tool: "look",
    args: "{}",
    argsHash: "",
    definitionHash: "",
    effect: "read-only",
    requires: [],
    status: "done",
    waitsOn: null,
    attempt: 0,
    epoch: 1,
    result: '"seen"',
    resultCode: null,
    approval: null,
    ...over,
  };
}

/** A run that has only its first message. */
export function aSnapshot(over: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    id: "run",
    workspaceId: "workspace",
    definitionId: "definition",
    definitionVersion: 1,
    startedBy: "user",
    title: "",
    status: "running",
    waitsOn: null,
    epoch: 1,
    leaseId: "lease",
    turns: 0,
    callCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costMicros: 0,
    workedMs: 0,
    databaseTime: Date.now(),
    readAt: performance.now(),
    grants: [],
    policyVersions: "1.1.1.0",
    killed: null,
    policy: nothingStored,
    canAnybodyAnswer: true,
    messages: [{ seq: 1, kind: "user", content: '"please do"' }],
    calls: [],
    steers: [],
    denials: [],
    ...over,
  };
}
