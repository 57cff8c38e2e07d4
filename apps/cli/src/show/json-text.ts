/** The pieces of JSON text: strings, punctuation, and everything else that is no white space. */
const token = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|[{}[\],:]|[^ \t\r\n"{}[\],:]+|"/g;

/** Plain lines of JSON text, indented by how deep they are; a line that goes on shows where its text begins. */
export interface JsonLine {
  readonly indent: number;
  readonly text: string;
}

/**
 * JSON text laid out to be read, with every token exactly as it was: numbers keep their spelling, strings their escapes,
 * repeated keys are all there. A string with line ends is broken after each \n that it holds. Text that is not JSON comes
 * out whole as well.
 */
export function layJson(json: string): JsonLine[] {
  const lines: JsonLine[] = [];
  let depth = 0;
  let text = "";
  let deeper = 0;
  const flush = (): void => {
    if (text !== "") lines.push({ indent: depth * 2 + deeper, text });
    text = "";
    deeper = 0;
  };

  const tokens = json.match(token) ?? [];
  for (const [n, piece] of tokens.entries()) {
    if (piece === "{" || piece === "[") {
      text += piece;
      if (isClosing(tokens[n + 1])) continue;
      flush();
      depth += 1;
    } else if (isClosing(piece)) {
      if (!/[{[]$/.test(text)) {
        flush();
        depth = Math.max(0, depth - 1);
      }
      text += piece;
    } else if (piece === ",") {
      text += piece;
      flush();
    } else if (piece === ":") {
      text += ": ";
    } else {
      for (const [part, isLast] of partsOf(piece)) {
        text += part;
        if (isLast) continue;
        flush();
        deeper = 4;
      }
    }
  }
  flush();
  return lines;
}

function isClosing(piece: string | undefined): boolean {
  return piece === "}" || piece === "]";
}

/** A string broken after each escaped line end; anything else in one part. */
function partsOf(piece: string): [part: string, isLast: boolean][] {
  const parts: string[] = [];
  let start = 0;
  for (let at = piece.indexOf("\\"); at !== -1; at = piece.indexOf("\\", at + 2)) {
    if (piece[at + 1] !== "n") continue;
    parts.push(piece.slice(start, at + 2));
    start = at + 2;
  }
  parts.push(piece.slice(start));
  return parts.map((part, n) => [part, n === parts.length - 1]);
}
