import { redactShapes } from "@countersign/broker/redact-shapes.ts";
import { storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { problemSchema } from "../problem.ts";

/** A moment: a Date in the process, ISO 8601 in UTC on the wire. */
export const moment = z.date().openapi({ type: "string", format: "date-time" });

/** An id as the database writes it, however it was sent: ids are compared as text. */
export const uuid = z.uuid().toLowerCase();

export const idParam = z.object({ id: uuid });

// Control characters, line separators, and the marks that turn the direction of text or take no room.
const unprintable = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e0fff}]/u;

/** As `storableText`, on one line, not blank, and showing all that it holds. */
export function storableLine(max: number) {
  return storableText(max).refine(
    (text) => text.trim() !== "" && !unprintable.test(text),
    "expected one line that is not blank, without control or invisible characters",
  );
}

/** The first line of `text`, short and showing all that it holds but what looks like a secret; for a title nobody gave. */
export function titleFrom(text: string): string {
  const line = text
    .toWellFormed()
    .trimStart()
    .split(/[\r\n\u2028\u2029]/u, 1)[0]
    ?.replaceAll(new RegExp(unprintable, "gu"), " ")
    .trim();
  // Before it is cut: half a secret has no shape any more.
  const shown = redactShapes(line ?? "");
  const characters = Array.from(shown);
  const short = characters.length > 80 ? `${characters.slice(0, 79).join("").trimEnd()}…` : shown;
  return short || "untitled";
}

/** A person or a part of the system, by the name it is shown under. */
export const actorSchema = z.object({ id: z.string().nullable(), name: z.string() }).openapi("Actor");

export const pageQuery = {
  cursor: z.string().max(200).optional().openapi({ description: "From `nextCursor` or `Link`" }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};

const problemContent = { "application/problem+json": { schema: problemSchema } };

/** The answers of a route: one success, and the refusals it can give besides those any route can. */
export function answers<S extends z.ZodType>(description: string, schema: S) {
  return {
    200: { description, content: { "application/json": { schema } } },
    "4XX": { description: "Refused; `code` says why", content: problemContent },
    "5XX": { description: "The server or its database failed", content: problemContent },
  };
}

/** A body of JSON that a route requires, as its description has it. */
export function jsonBody<S extends z.ZodType>(schema: S) {
  return { required: true, content: { "application/json": { schema } } };
}

export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, "expected 1 to 200 visible ASCII characters");

export const idempotencyHeaders = z.object({ "idempotency-key": idempotencyKey.optional() });

/** The same for the description of a route that reads no header of its own, so that a typed client need not send any. */
export const idempotencyParameter = {
  name: "idempotency-key",
  in: "header" as const,
  required: false,
  schema: { type: "string" as const, pattern: "^[\\x21-\\x7e]{1,200}$" },
};
