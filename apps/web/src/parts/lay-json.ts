/** In characters. */
const mostLaidOut = 1_000_000;
/** In levels: each costs two spaces in every line of it. */
const mostDepth = 100;

/**
 * JSON text laid out in lines, two spaces a level, with every token exactly as it stands: numbers keep their spelling,
 * doubled keys stay. Text that is not JSON comes back as it is, and so does what is too long or too deep to be laid out
 * while somebody waits.
 */
export function layJson(text: string): string {
  if (text.length > mostLaidOut) return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const laid: string[] = [];
  let level = 0;
  let before = "";
  const breakLine = (): void => void laid.push(`\n${"  ".repeat(level)}`);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/gsu)) {
    if (token === "}" || token === "]") {
      level -= 1;
      if (before !== "{" && before !== "[") breakLine();
    } else if (before === "{" || before === "[" || before === ",") breakLine();
    laid.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") level += 1;
    if (level > mostDepth) return text;
    before = token;
  }
  return laid.join("");
}
