/** A string of JSON text, what makes it a key, and where objects and lists begin and end. */
const tokens = /("(?:[^"\\]|\\.)*")([ \t\n\r]*:)?|[{}[\]]/gsu;

/**
 * JSON text with each string in it replaced by what `map` makes of its meaning, given the key that it stands under, also
 * in lists. Keys, numbers, doubled keys, order and space stay exactly as they stand, and so does a string that `map`
 * leaves alone. Undefined where the text is no JSON.
 */
export function mapJsonStrings(json: string, map: (text: string, key?: string) => string): string | undefined {
  try {
    JSON.parse(json);
  } catch {
    return undefined;
  }
  let key: string | undefined;
  /** The keys that the objects and lists around this place stand under themselves. */
  const around: (string | undefined)[] = [];
  return json.replace(tokens, (token: string, string: string | undefined, colon: string | undefined) => {
    if (string === undefined) {
      if (token === "{" || token === "[") around.push(key);
      else key = around.pop();
      if (token === "{") key = undefined;
      return token;
    }
    if (colon !== undefined) {
      key = JSON.parse(string) as string;
      return token;
    }
    const text = JSON.parse(string) as string;
    const mapped = map(text, key);
    return mapped === text ? token : JSON.stringify(mapped);
  });
}
