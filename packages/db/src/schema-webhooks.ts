import { sql } from "drizzle-orm";
import { customType, integer, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true });
const snapshot = customType<{ data: string }>({ dataType: () => "pg_snapshot" });

/** Who is told of what. */
export const webhookEndpoints = pgTable("webhook_endpoints", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  url: text("url").notNull(),
  events: text("events").array().notNull(),
  secretName: text("secret_name").notNull(),
  since: snapshot("since").notNull(),
  createdBy: uuid("created_by").notNull(),
  createdAt: moment("created_at").notNull().defaultNow(),
  disabledAt: moment("disabled_at"),
  disabledReason: text("disabled_reason"),
});

/** What an endpoint is or was to be told. */
export const webhookDeliveries = pgTable("webhook_deliveries", {
  id: uuid("id").primaryKey(),
  workspaceId: uuid("workspace_id").notNull(),
  endpointId: uuid("endpoint_id").notNull(),
  event: text("event").notNull(),
  subject: uuid("subject").notNull(),
  moment: moment("moment")
    .notNull()
    .default(sql`'-infinity'`),
  payload: text("payload").notNull(),
  redelivers: uuid("redelivers"),
  status: text("status", { enum: ["pending", "delivered", "failed"] })
    .notNull()
    .default("pending"),
  attempts: integer("attempts").notNull().default(0),
  createdAt: moment("created_at").notNull().defaultNow(),
  queuedAt: moment("queued_at"),
  settledAt: moment("settled_at"),
});

export const webhookAttempts = pgTable(
  "webhook_attempts",
  {
    deliveryId: uuid("delivery_id").notNull(),
    n: integer("n").notNull(),
    at: moment("at").notNull().defaultNow(),
    tookMs: integer("took_ms").notNull(),
    statusCode: integer("status_code"),
    failure: text("failure"),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.n] })],
);

/** Up to where changes were turned into deliveries. */
export const webhookFollower = pgTable("webhook_follower", {
  id: integer("id").primaryKey(),
  snapshot: snapshot("snapshot"),
});
