import { redactShapes } from "@countersign/broker/redact-shapes.ts";

/** A copy of a value for people's eyes, with what looks like a secret hidden in its texts; the record keeps it. */
export function hideInValue(value: unknown): unknown {
  if (typeof value === "string") return redactShapes(value);
  if (Array.isArray(value)) return value.map(hideInValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, hideInValue(member)]));
}

/** A copy of JSON text for people's eyes, still JSON: as it stands where that can be, else its texts one by one. */
export function hideInJson(json: string): string {
  const hidden = redactShapes(json);
  if (hidden === json || isJson(hidden)) return hidden;
  try {
    return JSON.stringify(hideInValue(JSON.parse(json)));
  } catch {
    return hidden;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
