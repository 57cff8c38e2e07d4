import { bigint, customType, integer, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true });
const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });

/** Names given to stored content. */
export const files = pgTable("files", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  hash: text("hash").notNull(),
  name: text("name").notNull(),
  mediaType: text("media_type").notNull(),
  size: bigint("size", { mode: "number" }).notNull(),
  pageId: uuid("page_id"),
  runId: uuid("run_id"),
  createdBy: text("created_by").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
});

/** What has arrived of uploads. */
export const uploadChunks = pgTable(
  "upload_chunks",
  {
    uploadId: uuid("upload_id").notNull(),
    n: integer("n").notNull(),
    bytes: bytea("bytes").notNull(),
    arrivedAt: moment("arrived_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.uploadId, table.n] })],
);

/** What agents propose to remember. */
export const memoryProposals = pgTable("memory_proposals", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  kind: text("kind").notNull(),
  text: text("text").notNull(),
  textKey: text("text_key").notNull(),
  status: text("status", { enum: ["proposed", "accepted", "dismissed", "duplicate"] })
    .notNull()
    .default("proposed"),
  duplicateOf: uuid("duplicate_of"),
  runId: uuid("run_id"),
  proposedBy: text("proposed_by").notNull(),
  proposedAt: moment("proposed_at").notNull().defaultNow(),
  settledAt: moment("settled_at"),
  settledBy: text("settled_by"),
  pageId: uuid("page_id"),
  nodeId: uuid("node_id"),
});

/** What was read elsewhere, on its way to a page. */
export const captures = pgTable("captures", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  url: text("url").notNull(),
  urlKey: text("url_key").notNull(),
  title: text("title").notNull(),
  hash: text("hash").notNull(),
  source: text("source"),
  screenshotFileId: uuid("screenshot_file_id"),
  userId: uuid("user_id").notNull(),
  runId: uuid("run_id"),
  callId: uuid("call_id"),
  capturedAt: moment("captured_at").notNull().defaultNow(),
  status: text("status", { enum: ["pending", "compiled", "failed"] })
    .notNull()
    .default("pending"),
  queuedAt: moment("queued_at"),
  attempts: integer("attempts").notNull().default(0),
  settledAt: moment("settled_at"),
  problem: text("problem"),
  pageId: uuid("page_id"),
  revision: integer("revision"),
  keptFor: uuid("kept_for"),
  follows: uuid("follows"),
});

/** What somebody is to be reminded of. */
export const reminders = pgTable("reminders", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  text: text("text").notNull(),
  dueAt: moment("due_at").notNull(),
  userId: uuid("user_id").notNull(),
  runId: uuid("run_id"),
  createdBy: text("created_by").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  status: text("status", { enum: ["pending", "reminded", "canceled"] })
    .notNull()
    .default("pending"),
  settledAt: moment("settled_at"),
  settledBy: text("settled_by"),
  taskId: uuid("task_id"),
});

/** Events as a calendar outside tells them. */
export const calendarEvents = pgTable(
  "calendar_events",
  {
    workspaceId: uuid("workspace_id").notNull(),
    uid: text("uid").notNull(),
    title: text("title").notNull(),
    startsAt: moment("starts_at").notNull(),
    endsAt: moment("ends_at").notNull(),
    timeZone: text("time_zone").notNull(),
    prepareMinutes: integer("prepare_minutes").notNull(),
    prepareAt: moment("prepare_at"),
    taskId: uuid("task_id"),
    putBy: text("put_by").notNull(),
    putAt: moment("put_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.uid] })],
);
