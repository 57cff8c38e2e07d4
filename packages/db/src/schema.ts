import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  customType,
  integer,
  json,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

export {
  accessRules,
  commands,
  directories,
  embeddedPages,
  links,
  nodeIds,
  nodes,
  fileSources,
  pageFiles,
  pageVectors,
  pages,
  runReads,
} from "./schema-knowledge.ts";
export { policyChanges, rules, toolPins, toolSwitches } from "./schema-policy.ts";
export { idempotencyKeys, identities, loginLinks, signIns, tokens, users, workspaces } from "./schema-people.ts";
export { calendarEvents, captures, files, memoryProposals, reminders, uploadChunks } from "./schema-ops.ts";
export { webhookAttempts, webhookDeliveries, webhookEndpoints, webhookFollower } from "./schema-webhooks.ts";

const xid8 = customType<{ data: string }>({ dataType: () => "xid8" });
/** The transaction that last changed what people see of a row; kept by a trigger. */
const changed = () =>
  xid8("changed")
    .notNull()
    .default(sql`pg_current_xact_id()`);
const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });
const moment = (name: string) => timestamp(name, { withTimezone: true });
const count = (name: string) => bigint(name, { mode: "number" });
const identity = () => bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity();

export const definitions = pgTable("definitions", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  name: text("name").notNull(),
  currentVersion: integer("current_version").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
});

export const definitionVersions = pgTable(
  "definition_versions",
  {
    definitionId: uuid("definition_id").notNull(),
    version: integer("version").notNull(),
    spec: json("spec").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    createdBy: uuid("created_by"),
    /** The approver rule of the spec. */
    approvers: json("approvers").generatedAlwaysAs(sql`spec -> 'approvers'`),
  },
  (table) => [primaryKey({ columns: [table.definitionId, table.version] })],
);

/** Version, kill switch, dial and approval policy of each scope; written by commits, and with each version of a definition. */
export const policies = pgTable("policies", {
  scopeId: uuid("scope_id").primaryKey(),
  scope: text("scope", { enum: ["app", "workspace", "definition", "run"] }).notNull(),
  workspaceId: uuid("workspace_id"),
  version: count("version").notNull().default(1),
  killedAt: moment("killed_at"),
  killedBy: uuid("killed_by"),
  killReason: text("kill_reason"),
  liftedAt: moment("lifted_at"),
  changed: changed(),
  dialLevel: text("dial_level", { enum: ["none", "read-only", "low", "high", "read", "write"] }),
  dialExpiresAt: moment("dial_expires_at"),
  isDialLocked: boolean("is_dial_locked").notNull().default(false),
  approvalPolicy: text("approval_policy", { enum: ["none", "outbound", "all"] }),
  isApprovalPolicyLocked: boolean("is_approval_policy_locked").notNull().default(false),
  softened: text("softened").array(),
  configurationHash: text("configuration_hash"),
});

/** The run row: the truth and the queue. Written by commits alone, as are all tables down to `late_results`. */
export const runs = pgTable("runs", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  definitionId: uuid("definition_id").notNull(),
  definitionVersion: integer("definition_version").notNull(),
  rootId: uuid("root_id").notNull(),
  parentId: uuid("parent_id"),
  depth: integer("depth").notNull(),
  startedBy: uuid("started_by").notNull(),
  title: text("title").notNull(),
  startKey: text("start_key"),
  startHash: text("start_hash"),
  pageId: uuid("page_id"),
  nodeId: uuid("node_id"),
  grants: text("grants").array().notNull(),
  status: text("status", { enum: ["queued", "running", "paused", "completed", "failed", "canceled"] }).notNull(),
  waitsOn: text("waits_on"),
  parkedOn: text("parked_on"),
  quarantinedAt: moment("quarantined_at"),
  readyAt: moment("ready_at"),
  wakeAt: moment("wake_at"),
  epoch: count("epoch").notNull().default(0),
  leaseId: uuid("lease_id"),
  leaseUntil: moment("lease_until"),
  worker: text("worker"),
  claimedAt: moment("claimed_at"),
  claimsWithoutProgress: integer("claims_without_progress").notNull().default(0),
  lastSeq: integer("last_seq").notNull().default(0),
  steers: integer("steers").notNull().default(0),
  unread: integer("unread").notNull().default(0),
  turns: integer("turns").notNull().default(0),
  callCount: integer("call_count").notNull().default(0),
  inputTokens: count("input_tokens").notNull().default(0),
  outputTokens: count("output_tokens").notNull().default(0),
  costMicros: count("cost_micros").notNull().default(0),
  workedMs: count("worked_ms").notNull().default(0),
  output: text("output"),
  endReason: text("end_reason"),
  createdAt: moment("created_at").notNull().defaultNow(),
  finishedAt: moment("finished_at"),
  changed: changed(),
  isTyped: boolean("is_typed").notNull().default(false),
});

export const runLog = pgTable(
  "run_log",
  {
    runId: uuid("run_id").notNull(),
    seq: integer("seq").notNull(),
    kind: text("kind").notNull(),
    callId: uuid("call_id"),
    actor: text("actor"),
    content: text("content").notNull(),
    at: moment("at").notNull().defaultNow(),
    inputTokens: integer("input_tokens"),
    outputTokens: integer("output_tokens"),
    costMicros: count("cost_micros"),
  },
  (table) => [primaryKey({ columns: [table.runId, table.seq] })],
);

export const toolCalls = pgTable("tool_calls", {
  id: uuid("id").primaryKey(),
  runId: uuid("run_id").notNull(),
  turnSeq: integer("turn_seq").notNull(),
  position: integer("position").notNull(),
  providerId: text("provider_id").notNull(),
  tool: text("tool").notNull(),
  args: text("args").notNull(),
  argsHash: text("args_hash").notNull(),
  definitionHash: text("definition_hash").notNull(),
  effect: text("effect").notNull(),
  requires: text("requires").array().notNull(),
  verdict: text("verdict").notNull(),
  gateRow: text("gate_row").notNull(),
  gateReason: text("gate_reason").notNull(),
  policyVersions: text("policy_versions").notNull(),
  status: text("status").notNull(),
  waitsOn: text("waits_on"),
  waitUntil: moment("wait_until"),
  approvalId: uuid("approval_id"),
  questionId: uuid("question_id"),
  attempt: integer("attempt").notNull().default(0),
  epoch: count("epoch"),
  hasEffectClaim: boolean("has_effect_claim").notNull().default(false),
  startedAt: moment("started_at"),
  finishedAt: moment("finished_at"),
  result: text("result"),
  resultCode: text("result_code"),
  resultBlob: text("result_blob"),
  noticeAt: moment("notice_at"),
  runArgs: text("run_args"),
  runArgsHash: text("run_args_hash"),
  selectedOption: text("selected_option"),
  undone: integer("undone").notNull().default(0),
  classified: json("classified"),
});

export const toolDefinitions = pgTable("tool_definitions", {
  hash: text("hash").primaryKey(),
  tool: text("tool").notNull(),
  definition: text("definition").notNull(),
  firstSeenAt: moment("first_seen_at").notNull().defaultNow(),
});

export const steers = pgTable(
  "steers",
  {
    runId: uuid("run_id").notNull(),
    n: integer("n").notNull(),
    id: uuid("id").notNull(),
    author: uuid("author").notNull(),
    content: text("content").notNull(),
    sentAt: moment("sent_at").notNull().defaultNow(),
    readSeq: integer("read_seq"),
    closedAt: moment("closed_at"),
    isTyped: boolean("is_typed").notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.runId, table.n] })],
);

export const lateResults = pgTable("late_results", {
  id: identity(),
  runId: uuid("run_id").notNull(),
  callId: uuid("call_id").notNull(),
  epoch: count("epoch").notNull(),
  status: text("status").notNull(),
  result: text("result").notNull(),
  at: moment("at").notNull().defaultNow(),
});

export const deltas = pgTable(
  "deltas",
  {
    runId: uuid("run_id").notNull(),
    id: bigint("id", { mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    turn: integer("turn").notNull(),
    kind: text("kind").notNull(),
    content: text("content").notNull(),
    at: moment("at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.runId, table.id] })],
);

export const approvals = pgTable("approvals", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  runId: uuid("run_id").notNull(),
  callId: uuid("call_id").notNull(),
  taskId: uuid("task_id").notNull(),
  kind: text("kind", { enum: ["approval", "outcome"] }).notNull(),
  status: text("status", { enum: ["pending", "approved", "denied", "expired", "canceled", "superseded"] }).notNull(),
  version: integer("version").notNull().default(1),
  argsHash: text("args_hash").notNull(),
  definitionHash: text("definition_hash").notNull(),
  policyVersions: text("policy_versions").notNull(),
  gateRow: text("gate_row").notNull(),
  gateReason: text("gate_reason").notNull(),
  card: text("card").notNull(),
  requestedAt: moment("requested_at").notNull().defaultNow(),
  expiresAt: moment("expires_at"),
  decidedAt: moment("decided_at"),
  decidedBy: uuid("decided_by"),
  answer: text("answer"),
  feedback: text("feedback"),
  note: text("note"),
  consumedAt: moment("consumed_at"),
  settledReason: text("settled_reason"),
  approverRule: json("approver_rule"),
  decidedFor: uuid("decided_for"),
  editedArgs: text("edited_args"),
  editedArgsHash: text("edited_args_hash"),
  selectedOption: text("selected_option"),
  scope: text("scope", { enum: ["once", "run", "definition", "workspace"] }),
  remindAt: moment("remind_at"),
  remindedAt: moment("reminded_at"),
  escalateAt: moment("escalate_at"),
  escalatedAt: moment("escalated_at"),
  preconditions: text("preconditions"),
  options: text("options"),
});

export const votes = pgTable(
  "votes",
  {
    approvalId: uuid("approval_id").notNull(),
    userId: uuid("user_id").notNull(),
    sayOf: uuid("say_of").notNull(),
    answer: text("answer").notNull(),
    choice: text("choice").notNull().default(""),
    feedback: text("feedback"),
    note: text("note"),
    votedAt: moment("voted_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.approvalId, table.userId] })],
);

export const delegations = pgTable("delegations", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  fromUser: uuid("from_user").notNull(),
  toUser: uuid("to_user").notNull(),
  approvalId: uuid("approval_id"),
  createdAt: moment("created_at").notNull().defaultNow(),
  expiresAt: moment("expires_at").notNull(),
  revokedAt: moment("revoked_at"),
  revokedBy: uuid("revoked_by"),
});

export const questions = pgTable("questions", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  runId: uuid("run_id").notNull(),
  callId: uuid("call_id").notNull(),
  taskId: uuid("task_id").notNull(),
  status: text("status", { enum: ["open", "answered", "dismissed", "expired", "canceled"] }).notNull(),
  question: text("question").notNull(),
  options: text("options").array().notNull(),
  context: text("context"),
  defaultAnswer: text("default_answer"),
  askedAt: moment("asked_at").notNull().defaultNow(),
  expiresAt: moment("expires_at"),
  answeredAt: moment("answered_at"),
  answeredBy: uuid("answered_by"),
  answer: text("answer"),
});

/** The queue. Cards (every kind but `task`) are written by commits alone. */
export const tasks = pgTable("tasks", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  kind: text("kind", { enum: ["task", "approval", "outcome", "question"] }).notNull(),
  status: text("status", { enum: ["open", "done", "dismissed", "expired", "canceled"] }).notNull(),
  section: text("section").notNull(),
  title: text("title").notNull(),
  runId: uuid("run_id"),
  approvalId: uuid("approval_id"),
  questionId: uuid("question_id"),
  pageId: uuid("page_id"),
  nodeId: uuid("node_id"),
  createdBy: text("created_by").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  resolvedAt: moment("resolved_at"),
  resolvedBy: text("resolved_by"),
  resolution: text("resolution"),
  changed: changed(),
});

export const audit = pgTable("audit", {
  id: identity(),
  workspaceId: uuid("workspace_id").notNull(),
  at: moment("at").notNull().defaultNow(),
  actor: text("actor").notNull(),
  action: text("action").notNull(),
  runId: uuid("run_id"),
  callId: uuid("call_id"),
  subject: text("subject"),
  details: json("details"),
  /** The transaction that wrote the row; what the sealer orders by. */
  xid: xid8("xid")
    .notNull()
    .default(sql`pg_current_xact_id()`),
});

/** The place of each audit row in its workspace's chain; written by the sealer alone, as are the two tables after it. */
export const auditChain = pgTable(
  "audit_chain",
  {
    workspaceId: uuid("workspace_id").notNull(),
    seq: count("seq").notNull(),
    auditId: count("audit_id").notNull(),
    keyId: text("key_id").notNull(),
    hash: bytea("hash").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.seq] })],
);

export const auditProgress = pgTable("audit_progress", {
  isOnly: boolean("is_only").primaryKey().default(true),
  xid: xid8("xid").notNull(),
  id: count("id").notNull(),
});

export const auditHeads = pgTable(
  "audit_heads",
  {
    workspaceId: uuid("workspace_id").notNull(),
    seq: count("seq").notNull(),
    hash: bytea("hash").notNull(),
    rows: count("rows").notNull(),
    keyId: text("key_id").notNull(),
    signature: bytea("signature").notNull(),
    signedAt: moment("signed_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.seq] })],
);

/** A check of a workspace's audit that an administrator asked for and a worker makes. */
export const auditChecks = pgTable("audit_checks", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  askedBy: uuid("asked_by").notNull(),
  askedAt: moment("asked_at").notNull(),
  takenAt: moment("taken_at"),
  rowsRead: count("rows_read").notNull().default(0),
  finishedAt: moment("finished_at"),
  report: json("report"),
});

export const secrets = pgTable("secrets", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  name: text("name").notNull(),
  capability: text("capability").notNull(),
  currentVersion: integer("current_version").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  deletedAt: moment("deleted_at"),
  deletedBy: uuid("deleted_by"),
  refreshingUntil: moment("refreshing_until"),
});

export const masterKeys = pgTable("master_keys", {
  keyId: text("key_id").primaryKey(),
  firstUsedAt: moment("first_used_at").notNull().defaultNow(),
  retiredAt: moment("retired_at"),
});

export const secretVersions = pgTable(
  "secret_versions",
  {
    secretId: uuid("secret_id").notNull(),
    version: integer("version").notNull(),
    capability: text("capability").notNull(),
    keyId: text("key_id").notNull(),
    ephemeralPublicKey: bytea("ephemeral_public_key").notNull(),
    sealedDataKey: bytea("sealed_data_key").notNull(),
    dataKeyNonce: bytea("data_key_nonce").notNull(),
    nonce: bytea("nonce").notNull(),
    ciphertext: bytea("ciphertext").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    createdBy: uuid("created_by"),
  },
  (table) => [primaryKey({ columns: [table.secretId, table.version] })],
);

export const capabilityLeases = pgTable(
  "capability_leases",
  {
    callId: uuid("call_id").notNull(),
    capability: text("capability").notNull(),
    runId: uuid("run_id").notNull(),
    acquiredAt: moment("acquired_at").notNull(),
    expiresAt: moment("expires_at").notNull(),
    revokedAt: moment("revoked_at"),
  },
  (table) => [primaryKey({ columns: [table.callId, table.capability] })],
);

export const blobs = pgTable(
  "blobs",
  {
    workspaceId: uuid("workspace_id").notNull(),
    hash: text("hash").notNull(),
    size: count("size").notNull(),
    mediaType: text("media_type").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.hash] })],
);

export const blobChunks = pgTable(
  "blob_chunks",
  {
    workspaceId: uuid("workspace_id").notNull(),
    hash: text("hash").notNull(),
    n: integer("n").notNull(),
    bytes: bytea("bytes").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.hash, table.n] })],
);
