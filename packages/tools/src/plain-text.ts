import { findTextProblem } from "@countersign/kb/text.ts";
import { z } from "zod";

/** An argument that is stored exactly as given: any text of 1 to `max` characters without NUL and lone surrogates. */
export function storableText(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .superRefine((text, context) => {
      const problem = findTextProblem(text);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    });
}

/** As `storableText`, on one line and not blank. */
export function storableLine(max: number) {
  return storableText(max).refine(
    (text) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text) && !/[\p{Cc}\u2028\u2029]/u.test(text),
    "expected one line that is not blank, without control characters",
  );
}

/** A text of several lines as one, each end of a line a mark. */
export function onOneLine(text: string): string {
  return text.replaceAll(/(?<!\s)\s*\n\s*/g, " ↵ ");
}
