import { transaction } from "@countersign/db/transaction.ts";
import { instant } from "@countersign/gate/storable.ts";
import { listCalendarEvents, putCalendarEvent, removeCalendarEvent } from "@countersign/ops/calendar.ts";
import { isTimeZone } from "@countersign/ops/wall-time.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { invalidField, Problem } from "../problem.ts";
import { answers, jsonBody, storableLine } from "../shapes/common.ts";
import { calendarEventSchema } from "../shapes/reminders.ts";

const mostEvents = 500;
const uidParam = z.object({ uid: storableLine(255) });

const list = createRoute({
  method: "get",
  path: "/calendar",
  summary: `The events that have not ended, or had not at a time, the next first, at most ${mostEvents}`,
  request: { query: z.object({ from: instant.optional() }) },
  responses: answers("The events", z.object({ events: z.array(calendarEventSchema) })),
});

const put = createRoute({
  method: "put",
  path: "/calendar/{uid}",
  summary: "Tell of an event, or of its new time; before it begins a task asks to prepare for it",
  request: {
    params: uidParam,
    body: jsonBody(
      z
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
        .openapi("NewCalendarEvent"),
    ),
  },
  responses: answers("The event", calendarEventSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/calendar/{uid}",
  summary: "The event does not take place; its open task is canceled",
  request: { params: uidParam },
  responses: answers("It is not known any more", z.object({ uid: z.string(), outcome: z.literal("removed") })),
});

/** Events as a calendar outside tells them, so that the heartbeat finds what is to be prepared for. */
export function createCalendarRoutes({ sql }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { workspaceId } = c.get("actor");
      const { from } = c.req.valid("query");
      const since = from === undefined ? new Date() : new Date(from);
      return c.json({ events: await listCalendarEvents(sql, { workspaceId, from: since, limit: mostEvents }) }, 200);
    })
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Telling of an event");
      const { uid } = c.req.valid("param");
      const { startsAt, endsAt, ...told } = c.req.valid("json");
      const event = { uid, startsAt: new Date(startsAt), endsAt: new Date(endsAt), ...told };
      if (event.endsAt < event.startsAt) throw invalidField("json.endsAt", "is before startsAt");
      const { workspaceId, userId } = actor;
      await transaction(sql, (tx) => putCalendarEvent(tx, { ...event, workspaceId, putBy: `user:${userId}` }));
      return c.json(event, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Removing an event");
      const { uid } = c.req.valid("param");
      const wasThere = await transaction(sql, (tx) => removeCalendarEvent(tx, actor.workspaceId, uid));
      if (!wasThere) {
        throw new Problem("not_found", `There is no event ${JSON.stringify(uid)} in this workspace.`);
      }
      return c.json({ uid, outcome: "removed" as const }, 200);
    });
}
