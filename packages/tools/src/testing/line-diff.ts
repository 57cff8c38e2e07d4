/** How many unchanged lines stand around a change. */
const context = 3;

/** The change of a text as a unified diff of one hunk, from the first line that differs to the last; empty where none does. */
export function lineDiff(name: string, before: string, after: string): string {
  if (before === after) return "";
  const [old, now] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;

  const from = Math.max(head - context, 0);
  const kept = Math.min(tail, context);
  const lines = [
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, old.length - tail + kept).map((line) => ` ${line}`),
  ];
  const range = (all: readonly string[]): string => `${from + 1},${all.length - tail + kept - from}`;
  return [`--- ${name}`, `+++ ${name}`, `@@ -${range(old)} +${range(now)} @@`, ...lines].join("\n");
}
