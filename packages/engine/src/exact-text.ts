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

/**
 * What nobody sees, or what reorders what is seen: control and format characters, other default-ignorable ones,
 * unassigned ones, and every space but the plain one. Tabs and line ends are seen.
 */
const unseen =
  /(?![\t\n]|\r\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2D7F\u{10A3F}\u{1107F}\u{1193E}\u{11A47}\u{11A99}\u{11F42}\u{16FE4}\u2800\uFFFC\u{13441}\u{13442}\u{1D159}\u{1DA7F}\u{1DA80}]|(?! )\p{Zs}/gu;

/**
 * A copy for people's eyes in which each character of `unseen` is written as `\uXXXX`, so that no surface that shows it
 * can hide what is there. JSON text with ordinary line ends stays JSON of the same meaning.
 */
export function visibleText(text: string): string {
  return displayText(text).replaceAll(unseen, (found) =>
    found
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
