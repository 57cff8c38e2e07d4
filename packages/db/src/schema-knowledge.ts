import { sql } from "drizzle-orm";
import { bigint, customType, integer, pgTable, primaryKey, real, text, timestamp, uuid } from "drizzle-orm/pg-core";

const words = customType<{ data: string }>({ dataType: () => "tsvector" });
const moment = (name: string) => timestamp(name, { withTimezone: true });

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
  createdAt: moment("created_at").notNull(),
  updatedAt: moment("updated_at").notNull(),
  labels: text("labels")
    .array()
    .notNull()
    .default(sql`'{}'`),
  aliases: text("aliases")
    .array()
    .notNull()
    .default(sql`'{}'`),
  names: text("names")
    .array()
    .notNull()
    .default(sql`'{}'`),
  nameWords: words("name_words").notNull().default(""),
  removedAt: moment("removed_at"),
  problem: text("problem"),
});

/** The files that a page was imported from, or stands at when it is written out. */
export const pageFiles = pgTable("page_files", {
  workspaceId: uuid("workspace_id").notNull(),
  pageId: uuid("page_id").notNull(),
  path: text("path").notNull(),
  importedRevision: integer("imported_revision"),
  importedSha256: text("imported_sha256"),
});

/** What files held that were merged into pages which had changed too. */
export const fileSources = pgTable(
  "file_sources",
  {
    workspaceId: uuid("workspace_id").notNull(),
    pageId: uuid("page_id").notNull(),
    sha256: text("sha256").notNull(),
    revision: integer("revision").notNull(),
    source: text("source").notNull(),
  },
  (table) => [primaryKey({ columns: [table.pageId, table.sha256] })],
);

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
  words: words("words").notNull().default(""),
});

/** Every id that a node ever had, and the page it is of. */
export const nodeIds = pgTable("node_ids", {
  id: uuid("id").primaryKey(),
  pageId: uuid("page_id").notNull(),
});

/** Links of nodes to pages. */
export const links = pgTable("links", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  workspaceId: uuid("workspace_id").notNull(),
  pageId: uuid("page_id").notNull(),
  nodeId: uuid("node_id").notNull(),
  kind: text("kind").notNull(),
  target: text("target").notNull(),
  fileName: text("file_name"),
  targetPageId: uuid("target_page_id"),
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
  at: moment("at").notNull(),
  undoes: uuid("undoes"),
});

/** Every spelling of a directory that holds a page or has held one, or that a rule names; of one directory one `key`. */
export const directories = pgTable(
  "directories",
  {
    workspaceId: uuid("workspace_id").notNull(),
    dir: text("dir").notNull(),
    key: text("key").notNull(),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.dir] })],
);

/** Who may read and change directories and pages. */
export const accessRules = pgTable("access_rules", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  dir: text("dir"),
  pageId: uuid("page_id"),
  userId: uuid("user_id"),
  level: text("level").notNull(),
  createdBy: uuid("created_by").notNull(),
  createdAt: moment("created_at").notNull(),
});

/** What a tree of runs was shown that was closed to somebody then: a page, or a directory by its key. */
export const runReads = pgTable("run_reads", {
  runId: uuid("run_id").notNull(),
  pageId: uuid("page_id"),
  dir: text("dir"),
});

/** Pages that an embedding model was shown, and when the next is due. */
export const embeddedPages = pgTable("embedded_pages", {
  pageId: uuid("page_id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  model: text("model"),
  dims: integer("dims"),
  revision: integer("revision"),
  attempts: integer("attempts").notNull().default(0),
  dueAt: moment("due_at").notNull(),
  problem: text("problem"),
});

/** A vector for each part of a page. */
export const pageVectors = pgTable(
  "page_vectors",
  {
    pageId: uuid("page_id").notNull(),
    part: integer("part").notNull(),
    workspaceId: uuid("workspace_id").notNull(),
    model: text("model").notNull(),
    dims: integer("dims").notNull(),
    nodeId: uuid("node_id"),
    textHash: text("text_hash").notNull(),
    embedding: real("embedding").array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.pageId, table.part] })],
);
