/**
 * Text of models and tools is stored as JSON text, which keeps NUL and lone surrogates that Postgres text cannot hold.
 * `JSON.stringify` writes both as escapes.
 */
export function stringifyExact(value: unknown): string {
  return JSON.stringify(value);
}

/** Reads back what `stringifyExact` wrote; the caller names the type it stored. */
export function parseExact<T>(text: string): T {
  return JSON.parse(text) as T;
}

/**
 * JSON text as Postgres text can hold it, meaning the same: lone surrogates that stand raw in it become escapes. Text
 * with a raw NUL is no JSON; it is kept as a JSON string of itself.
 */
export function storableJson(json: string): string {
  if (json.includes("\u0000")) return stringifyExact(json);
  if (json.isWellFormed()) return json;
  return json.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

/**
 * A copy for people's eyes that Postgres text can hold: NUL becomes its visible symbol, lone surrogates the replacement
 * character. Never used for what runs.
 */
export function displayText(text: string, maxLength = Infinity): string {
  const shown = text.replaceAll("\u0000", "\u2400").toWellFormed();
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength - 1).toWellFormed()}…`;
}
