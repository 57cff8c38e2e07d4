import { instant } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, moment, storableLine } from "./common.ts";

export const reminderStatus = z.enum(["pending", "reminded", "canceled"]);

export const newReminderSchema = z
  .strictObject({
    text: storableLine(300).openapi({ description: "What to be reminded of; the title of the task that it becomes" }),
    dueAt: instant,
  })
  .openapi("NewReminder");

export const reminderSchema = z
  .object({
    id: z.string(),
    text: z.string(),
    dueAt: moment,
    status: reminderStatus,
    runId: z.string().nullable(),
    createdBy: actorSchema,
    createdAt: moment,
    settledAt: moment.nullable(),
    settledBy: actorSchema.nullable(),
    taskId: z.string().nullable().openapi({ description: "The task that it became" }),
  })
  .openapi("Reminder");

export const reminderListSchema = z
  .object({ reminders: z.array(reminderSchema), nextCursor: z.string().nullable() })
  .openapi("ReminderList");

export type ShownReminder = z.infer<typeof reminderSchema>;

export const calendarEventSchema = z
  .object({
    uid: z.string(),
    title: z.string(),
    startsAt: moment,
    endsAt: moment,
    timeZone: z.string(),
    prepareMinutes: z.int(),
  })
  .openapi("CalendarEvent");
