const tokens = /"(?:[^"\\]|\\.)*"|[[\]{}:]/gsu;

/**
 * A key that stands twice in one object of a JSON text, in whatever spelling; undefined where none does, or where it is no
 * JSON. Readers of such a text do not agree on which of the two counts.
 */
export function doubledKey(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const open: Set<string>[] = [];
  let before = "";
  for (const [token] of text.matchAll(tokens)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const key = JSON.parse(before) as string;
      const keys = open.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
    before = token;
  }
  return undefined;
}
