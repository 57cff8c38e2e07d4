import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { instant } from "@countersign/gate/storable.ts";
import { listCalendarEvents, putCalendarEvent, removeCalendarEvent } from "@countersign/ops/calendar.ts";
import { isTimeZone } from "@countersign/ops/wall-time.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { invalidField, Problem } from "../problem.ts";
import { answers, jsonBody, storableLine } from "../shapes/common.ts";
import { calendarEventSchema } from "../shapes/reminders.ts";

const mostEvents = 500;

/** Calendars outside make uids of any characters, and a path cannot hold all of them; a query can. */
const named = z.object({ uid: storableLine(255) });

const toldEvent = z
  .strictObject({
    title: storableLine(200),
    startsAt: instant,
    endsAt: instant,
    timeZone: z
      .string()
      .refine(isTimeZone, "expected a time zone, such as Europe/Berlin")
      .openapi({ description: "Tasks say the hour there" }),
    prepareMinutes: z
      .int()
      .min(0)
      .max(43_200)
      .default(24 * 60)
      .openapi({ description: "How long before it the task is made; 0 makes none" }),
  })
  .openapi("NewCalendarEvent");

const list = createRoute({
  method: "get",
  path: "/calendar",
  summary: `The events that have not ended, or had not at a time, the next first, at most ${mostEvents}`,
  request: { query: z.object({ from: instant.optional() }) },
  responses: answers("The events", z.object({ events: z.array(calendarEventSchema) })),
});

const put = {
  method: "put" as const,
  summary: "Tell of an event, or of its new time; before it begins a task asks to prepare for it",
  responses: answers("The event", calendarEventSchema),
};
const putAtPath = createRoute({
  ...put,
  path: "/calendar/{uid}",
  request: { params: named, body: jsonBody(toldEvent) },
});
const putByQuery = createRoute({ ...put, path: "/calendar", request: { query: named, body: jsonBody(toldEvent) } });

const remove = {
  method: "delete" as const,
  summary: "The event does not take place; its open task is canceled",
  responses: answers("It is not known any more", z.object({ uid: z.string(), outcome: z.literal("removed") })),
};
const removeAtPath = createRoute({ ...remove, path: "/calendar/{uid}", request: { params: named } });
const removeByQuery = createRoute({ ...remove, path: "/calendar", request: { query: named } });

/** Events as a calendar outside tells them, so that the heartbeat finds what is to be prepared for. */
export function createCalendarRoutes({ sql }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { workspaceId } = c.get("actor");
      const { from } = c.req.valid("query");
      const since = from === undefined ? new Date() : new Date(from);
      return c.json({ events: await listCalendarEvents(sql, { workspaceId, from: since, limit: mostEvents }) }, 200);
    })
    .openapi(putAtPath, async (c) =>
      c.json(await tellEvent(sql, c.get("actor"), { ...c.req.valid("json"), ...c.req.valid("param") }), 200),
    )
    .openapi(putByQuery, async (c) =>
      c.json(await tellEvent(sql, c.get("actor"), { ...c.req.valid("json"), ...c.req.valid("query") }), 200),
    )
    .openapi(removeAtPath, async (c) => c.json(await removeEvent(sql, c.get("actor"), c.req.valid("param")), 200))
    .openapi(removeByQuery, async (c) => c.json(await removeEvent(sql, c.get("actor"), c.req.valid("query")), 200));
}

async function tellEvent(
  sql: Sql,
  actor: Actor,
  { startsAt, endsAt, ...told }: z.output<typeof toldEvent> & z.output<typeof named>,
) {
  requireRole(actor, "operator", "Telling of an event");
  const event = { ...told, startsAt: new Date(startsAt), endsAt: new Date(endsAt) };
  if (event.endsAt < event.startsAt) throw invalidField("json.endsAt", "is before startsAt");
  const { workspaceId, userId } = actor;
  await transaction(sql, (tx) => putCalendarEvent(tx, { ...event, workspaceId, putBy: `user:${userId}` }));
  return event;
}

async function removeEvent(sql: Sql, actor: Actor, { uid }: z.output<typeof named>) {
  requireRole(actor, "operator", "Removing an event");
  const wasThere = await transaction(sql, (tx) => removeCalendarEvent(tx, actor.workspaceId, uid));
  if (!wasThere) throw new Problem("not_found", `There is no event ${JSON.stringify(uid)} in this workspace.`);
  return { uid, outcome: "removed" as const };
}
