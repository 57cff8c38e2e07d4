import * as z from "zod";

/** Text that the database can hold exactly: no NUL, no half of a surrogate pair. */
export const storable = z
  .string()
  .refine((text) => !text.includes("\0"), "holds a NUL character (U+0000); leave it out")
  .refine((text) => text.isWellFormed(), "holds half of a surrogate pair; leave it out");

/** The same, of 1 to `max` characters. */
export function storableText(max: number) {
  return storable.min(1).max(max);
}

/** A moment as people write it, with its zone, in the years that every part of the system knows. */
export const instant = z.iso
  .datetime({ offset: true, error: "expected a moment with its offset, such as 2026-01-31T09:00:00+01:00" })
  .refine((text) => /^(?:19[7-9]|2\d\d)\d-/.test(text), "expected a year from 1970 to 2999")
  .refine((text) => !Number.isNaN(Date.parse(text)), "is no moment of the calendar");

/** A span of time in milliseconds, of at most ten years: counted from now, it ends at a moment that can be stored. */
export const spanMs = z
  .int()
  .positive()
  .max(10 * 366 * 86_400_000, "is longer than ten years, in milliseconds");
