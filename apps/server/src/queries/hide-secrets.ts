import { redactShapes } from "@countersign/broker/redact-shapes.ts";
import { mapJsonStrings } from "@countersign/engine/map-json-strings.ts";

/** A copy of a value for people's eyes, with what looks like a secret hidden in its texts; the record keeps it. */
export function hideInValue(value: unknown, key?: string): unknown {
  if (typeof value === "string") return redactShapes(value, key);
  if (Array.isArray(value)) return value.map((member) => hideInValue(member, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hideInValue(member, name)]));
}

/** The same of a text that may be none. */
export function hideInText<T extends string | null>(text: T): T | string {
  return text === null ? text : redactShapes(text);
}

/** The same of JSON text: but for what is hidden in its strings, every token stays exactly as it stands. */
export function hideInJson(json: string): string {
  return mapJsonStrings(json, redactShapes) ?? redactShapes(json);
}
