/** The most lines of either side that are compared one by one; beyond it the one side is taken away and the other added. */
const mostCompared = 1_500;

/** How many lines around a change are shown with it. */
const around = 3;

/** What changed between two texts as lines that begin with `-`, `+` or a blank, far unchanged parts left out. */
export function diffLines(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const changed = compare(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const head = old.slice(0, start).map((line) => ` ${line}`);
  const tail = end === 0 ? [] : old.slice(-end).map((line) => ` ${line}`);
  return leaveOutFar([...head, ...changed, ...tail]).join("\n");
}

/** By the longest common subsequence of lines. */
function compare(old: readonly string[], now: readonly string[]): string[] {
  if (old.length > mostCompared || now.length > mostCompared)
    return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  const width = now.length + 1;
  const longest = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const [down, right] = [longest[(i + 1) * width + j] ?? 0, longest[i * width + j + 1] ?? 0];
      longest[i * width + j] = old[i] === now[j] ? (longest[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(down, right);
    }
  }
  const lines: string[] = [];
  for (let [i, j] = [0, 0]; i < old.length || j < now.length;) {
    const [down, right] = [longest[(i + 1) * width + j] ?? 0, longest[i * width + j + 1] ?? 0];
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${old[i]}`);
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= now.length || down >= right)) {
      lines.push(`-${old[i]}`);
      i += 1;
    } else {
      lines.push(`+${now[j]}`);
      j += 1;
    }
  }
  return lines;
}

function leaveOutFar(lines: readonly string[]): string[] {
  const near = new Set<number>();
  for (const [n, line] of lines.entries()) {
    if (!line.startsWith(" ")) for (let k = n - around; k <= n + around; k += 1) near.add(k);
  }
  const kept: string[] = [];
  for (const [n, line] of lines.entries()) {
    if (near.has(n)) kept.push(line);
    else if (kept.at(-1) !== "@@") kept.push("@@");
  }
  return kept;
}
