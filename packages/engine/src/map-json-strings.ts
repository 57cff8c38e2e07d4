/** Where a string of JSON text begins, and where objects and lists begin and end. */
const next = /["{}[\]]/g;
const colon = /[ \t\n\r]*:/y;

/**
 * JSON text with each string in it replaced by what `map` makes of its meaning, given the key that it stands under, also
 * in lists. Keys, numbers, doubled keys, order and space stay exactly as they stand, and so does a string that `map`
 * leaves alone. Undefined where the text is no JSON. Takes time in the order of the text's length, however long a string.
 */
export function mapJsonStrings(json: string, map: (text: string, key?: string) => string): string | undefined {
  try {
    JSON.parse(json);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let key: string | undefined;
  /** The keys that the objects and lists around this place stand under themselves. */
  const around: (string | undefined)[] = [];
  let copied = 0;
  for (let at = indexOfNext(json, 0); at !== -1; at = indexOfNext(json, at)) {
    const sign = json[at];
    if (sign !== '"') {
      if (sign === "{" || sign === "[") around.push(key);
      else key = around.pop();
      if (sign === "{") key = undefined;
      at += 1;
      continue;
    }
    const end = endOfString(json, at);
    const text = meaningOf(json.slice(at, end));
    colon.lastIndex = end;
    if (colon.test(json)) {
      key = text;
    } else {
      const mapped = map(text, key);
      if (mapped !== text) {
        parts.push(json.slice(copied, at), JSON.stringify(mapped));
        copied = end;
      }
    }
    at = end;
  }
  parts.push(json.slice(copied));
  return parts.join("");
}

function indexOfNext(json: string, from: number): number {
  next.lastIndex = from;
  return next.exec(json)?.index ?? -1;
}

/** Behind the quote that ends the string which begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (json[before] === "\\") before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
}

function meaningOf(token: string): string {
  return token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
}
