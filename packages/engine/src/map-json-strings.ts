/** A string of JSON text, what makes it a key, and where the members of an object begin and end. */
const tokens = /("(?:[^"\\]|\\.)*")([ \t\n\r]*:)?|[{}]/gsu;

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
  return json.replace(tokens, (token: string, string: string | undefined, colon: string | undefined) => {
    if (string === undefined || colon !== undefined) {
      key = string === undefined ? undefined : (JSON.parse(string) as string);
      return token;
    }
    const text = JSON.parse(string) as string;
    const mapped = map(text, key);
    return mapped === text ? token : JSON.stringify(mapped);
  });
}
