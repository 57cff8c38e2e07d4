import { bigint, boolean, integer, json, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true });

/** What was answered for later calls, at one scope for one target each; written by commits alone, as are all tables here. */
export const rules = pgTable("rules", {
  id: uuid("id").primaryKey(),
  scope: text("scope", { enum: ["app", "workspace", "definition", "run"] }).notNull(),
  scopeId: uuid("scope_id").notNull(),
  workspaceId: uuid("workspace_id"),
  targetKind: text("target_kind", { enum: ["tool", "server", "family", "everything"] }).notNull(),
  targetName: text("target_name").notNull(),
  mode: text("mode", { enum: ["off", "deny", "ask", "allowlist", "allow"] }).notNull(),
  isLocked: boolean("is_locked").notNull().default(false),
  entries: json("entries"),
  isRemembered: boolean("is_remembered").notNull().default(false),
  definitionHash: text("definition_hash"),
  expiresAt: moment("expires_at"),
  version: integer("version").notNull().default(1),
  approvalId: uuid("approval_id"),
  createdBy: uuid("created_by"),
  createdAt: moment("created_at").notNull().defaultNow(),
  updatedAt: moment("updated_at").notNull().defaultNow(),
  revokedAt: moment("revoked_at"),
  revokedBy: text("revoked_by"),
  revokedReason: text("revoked_reason"),
});

/** Kill switches of tools and servers that are on. */
export const toolSwitches = pgTable(
  "tool_switches",
  {
    scopeId: uuid("scope_id").notNull(),
    kind: text("kind", { enum: ["tool", "server"] }).notNull(),
    name: text("name").notNull(),
    killedAt: moment("killed_at").notNull().defaultNow(),
    killedBy: uuid("killed_by"),
    reason: text("reason").notNull(),
  },
  (table) => [primaryKey({ columns: [table.scopeId, table.kind, table.name] })],
);

/** The definition of each tool that a person last agreed to, by its hash. */
export const toolPins = pgTable(
  "tool_pins",
  {
    workspaceId: uuid("workspace_id").notNull(),
    tool: text("tool").notNull(),
    definitionHash: text("definition_hash").notNull(),
    pinnedAt: moment("pinned_at").notNull().defaultNow(),
    pinnedBy: uuid("pinned_by"),
    approvalId: uuid("approval_id"),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.tool] })],
);

/** Changes whose open approvals are still to be judged again. */
export const policyChanges = pgTable("policy_changes", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  scopeId: uuid("scope_id").notNull(),
  workspaceId: uuid("workspace_id"),
  tools: text("tools").array(),
  at: moment("at").notNull().defaultNow(),
  nextId: uuid("next_id"),
  takenUntil: moment("taken_until"),
});
