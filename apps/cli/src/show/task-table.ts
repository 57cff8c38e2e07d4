import type { Task } from "../client.ts";
import { shortId } from "../find-id.ts";
import { layTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { heldByOf, kindOf } from "./words.ts";

/** Tasks as a table. */
export function layTasks(tasks: readonly Task[], { style, size }: Pick<Terminal, "style" | "size">): string[] {
  const rows = tasks.map((task) => {
    const { sign, word } = kindOf(task);
    const isOpen = task.status === "open";
    const isCard = task.kind !== "task";
    const isHeld = heldByOf(task) !== null;
    return [
      { text: shortId(task.id), paint: style.cyan },
      {
        text: isHeld ? "⏸ held" : `${sign} ${isOpen ? word : task.status}`,
        paint: isOpen && isCard ? style.yellow : style.dim,
      },
      { text: makeVisible(task.title), paint: isOpen ? style.bold : style.dim },
      { text: makeVisible(task.run?.definition ?? task.section), paint: style.dim },
      { text: relativeTime(task.createdAt), paint: style.dim },
    ];
  });
  return layTable(rows, 2, size().columns - 1);
}
