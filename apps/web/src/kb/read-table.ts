/** A table's head and its rows, each cell the text it is. */
export interface TableText {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * Reads the text of a node that the server knows for a table: its first line is the head, its second the rule. A bar that
 * is escaped, or stands in code, parts no cells. No row is cut: what has more cells than the head keeps them.
 */
export function readTable(text: string): TableText {
  const [head = "", , ...rows] = text.split("\n");
  return { head: cellsOf(head), rows: rows.map(cellsOf) };
}

function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let from = 0;
  for (const { 0: found, index } of line.matchAll(/\\[^]|`[^`]*`|\|/g)) {
    if (found !== "|") continue;
    cells.push(line.slice(from, index));
    from = index + 1;
  }
  cells.push(line.slice(from));
  // The bars at the ends of a line part nothing.
  if (cells.length > 1 && cells[0]?.trim() === "") cells.shift();
  if (cells.length > 1 && cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
