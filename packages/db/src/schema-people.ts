import { sql } from "drizzle-orm";
import { bigint, boolean, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true });

export const workspaces = pgTable("workspaces", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  fileQuotaBytes: bigint("file_quota_bytes", { mode: "number" }),
});

export const users = pgTable("users", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  name: text("name").notNull(),
  role: text("role", { enum: ["viewer", "operator", "approver", "admin"] }).notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  disabledAt: moment("disabled_at"),
  isService: boolean("is_service").notNull().default(false),
  email: text("email"),
});

export const tokens = pgTable("tokens", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  userId: uuid("user_id").notNull(),
  hash: text("hash").notNull(),
  label: text("label").notNull(),
  mayDecide: boolean("may_decide").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  expiresAt: moment("expires_at"),
  revokedAt: moment("revoked_at"),
  actsFor: uuid("acts_for")
    .array()
    .notNull()
    .default(sql`'{}'`),
  createdBy: uuid("created_by"),
  lastUsedAt: moment("last_used_at"),
  kind: text("kind", { enum: ["token", "session"] })
    .notNull()
    .default("token"),
  userAgent: text("user_agent"),
});

export const identities = pgTable(
  "identities",
  {
    issuer: text("issuer").notNull(),
    subject: text("subject").notNull(),
    workspaceId: uuid("workspace_id").notNull(),
    userId: uuid("user_id").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.issuer, table.subject] })],
);

/** Sign-ins through an identity provider that are under way. */
export const signIns = pgTable("sign_ins", {
  hash: text("hash").primaryKey(),
  verifier: text("verifier").notNull(),
  nonce: text("nonce").notNull(),
  expiresAt: moment("expires_at").notNull(),
});

export const loginLinks = pgTable("login_links", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  userId: uuid("user_id").notNull(),
  hash: text("hash").notNull(),
  mayDecide: boolean("may_decide").notNull(),
  createdBy: uuid("created_by"),
  createdAt: moment("created_at").notNull().defaultNow(),
  expiresAt: moment("expires_at").notNull(),
  usedAt: moment("used_at"),
});

/** What keyed requests were answered. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    sender: uuid("sender").notNull(),
    key: text("key").notNull(),
    workspaceId: uuid("workspace_id").notNull(),
    requestHash: text("request_hash").notNull(),
    answer: text("answer").notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.sender, table.key] })],
);
