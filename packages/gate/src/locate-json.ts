/** Deeper than any document has reason to be, and far from where reading it would run out of stack. */
const mostDepth = 100;

/** Where the members of a JSON text stand, by line, the first being 1. */
export interface JsonPlaces {
  readonly kind: "places";
  /** The line of what the keys lead to, or of the last thing on the way that is there. */
  lineOf(keys: readonly PropertyKey[]): number;
  /** Keys that an object has twice: of two equal ones JSON.parse keeps the last in silence. */
  readonly repeated: readonly { readonly keys: readonly PropertyKey[]; readonly line: number }[];
}

/** The text is not JSON, or nested too deep; `line` is where that shows. */
interface NotJson {
  readonly kind: "broken";
  readonly line: number;
}

/** Reads where everything stands in a JSON text. Never throws. */
export function locateJson(text: string): JsonPlaces | NotJson {
  const lines = new Map<string, number>();
  const repeated: { keys: readonly PropertyKey[]; line: number }[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^ \t\n\r{}[\],:"]+|./gsy;
  let line = 1;

  function next(): string {
    const rest = /[^ \t\n\r]|$/g;
    rest.lastIndex = token.lastIndex;
    const start = rest.exec(text)?.index ?? text.length;
    line += text.slice(token.lastIndex, start).split("\n").length - 1;
    token.lastIndex = start;
    return token.exec(text)?.[0] ?? "";
  }

  /** False where it is broken; reading ends there. */
  function read(keys: readonly PropertyKey[], first: string): boolean {
    if (keys.length > mostDepth) return false;
    lines.set(nameOf(keys), line);
    if (first === "{") return readObject(keys, next());
    if (first === "[") return readArray(keys, next());
    return isScalar(first);
  }

  function readObject(keys: readonly PropertyKey[], first: string): boolean {
    const seen = new Set<string>();
    for (let part = first; part !== "}" || seen.size > 0; part = next()) {
      if (!part.startsWith('"') || !isScalar(part)) return false;
      const key = String(JSON.parse(part));
      const member = [...keys, key];
      if (seen.has(key)) repeated.push({ keys: member, line });
      seen.add(key);
      if (next() !== ":" || !read(member, next())) return false;
      const after = next();
      if (after === "}") return true;
      if (after !== ",") return false;
    }
    return true;
  }

  function readArray(keys: readonly PropertyKey[], first: string): boolean {
    let part = first;
    for (let index = 0; part !== "]" || index > 0; index += 1) {
      if (!read([...keys, index], part)) return false;
      const after = next();
      if (after === "]") return true;
      if (after !== ",") return false;
      part = next();
    }
    return true;
  }

  if (!read([], next()) || next() !== "") return { kind: "broken", line };
  return {
    kind: "places",
    repeated,
    lineOf(keys) {
      const lengths = keys.map((_, index) => keys.length - index);
      const found = lengths.find((length) => lines.has(nameOf(keys.slice(0, length)))) ?? 0;
      return lines.get(nameOf(keys.slice(0, found))) ?? 1;
    },
  };
}

function isScalar(text: string): boolean {
  try {
    return text !== "" && JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

function nameOf(keys: readonly PropertyKey[]): string {
  return JSON.stringify(keys.map(String));
}
