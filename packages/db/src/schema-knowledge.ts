import { integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

/** Pages of the knowledge base; each is an ordered tree of `nodes`. */
export const pages = pgTable("pages", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  dir: text("dir").notNull(),
  title: text("title").notNull(),
  slug: text("slug").notNull(),
  type: text("type").notNull(),
  frontmatter: text("frontmatter").notNull(),
  lineEnd: text("line_end").notNull(),
  fileName: text("file_name"),
  revision: integer("revision").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull(),
});

/** What a page is made of: bullets, headings, paragraphs, tables and fences. */
export const nodes = pgTable("nodes", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  pageId: uuid("page_id").notNull(),
  parentId: uuid("parent_id"),
  orderKey: text("order_key").notNull(),
  kind: text("kind").notNull(),
  text: text("text").notNull(),
  lead: text("lead"),
  hang: text("hang"),
  trail: text("trail"),
});

/** The log of every change of a page. */
export const commands = pgTable("commands", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  pageId: uuid("page_id").notNull(),
  revision: integer("revision").notNull(),
  kind: text("kind").notNull(),
  userId: uuid("user_id").notNull(),
  runId: uuid("run_id"),
  callId: uuid("call_id"),
  before: text("before"),
  after: text("after"),
  at: timestamp("at", { withTimezone: true }).notNull(),
});
