/** What a JSON text says; undefined where it is none yet. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** As `parseJson`, of an object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)?.value;
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
