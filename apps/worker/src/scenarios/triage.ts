import type { Line, Stage } from "@countersign/engine/scripted-model.ts";
import { replyToSteers, resultOf, textOf } from "./results.ts";

/** Takes whatever it is told, finds the pages that speak of it, and puts a task into the queue. Nothing of it is gated. */
export function triage(stage: Stage): Line {
  const told = oneLine(stage.said[0] ?? "");
  const word = pickWord(told);
  if (resultOf(stage, "kb.grep") === undefined) {
    return { say: `I look for “${word}”.`, use: [{ tool: "kb.grep", args: { pattern: word, limit: 20 } }] };
  }
  const pages = [...textOf(stage, "kb.grep").matchAll(/^(.+?) › /gm)].map(([, title]) => title ?? "");
  const related = [...new Set(pages)].slice(0, 3);
  if (resultOf(stage, "tasks.create") === undefined) {
    const see = related.length === 0 ? "" : ` (see ${related.join(", ")})`;
    const title = `${shorten(told, 200)}${shorten(see, 90)}`;
    return {
      say: related.length === 0 ? "No page speaks of it." : `These pages speak of it: ${related.join(", ")}.`,
      use: [{ tool: "tasks.create", args: { title } }],
    };
  }
  const filed = resultOf(stage, "tasks.create");
  const outcome = filed?.isError === true ? `It could not be filed: ${filed.content}` : "It is in the queue.";
  return { say: [outcome, replyToSteers(stage)].filter(Boolean).join(" ") };
}

/** The longest word, which is as good a guess as any at what a sentence is about. */
function pickWord(text: string): string {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.toSorted((a, b) => b.length - a.length)[0]?.slice(0, 60) ?? text.slice(0, 60);
}

function oneLine(text: string): string {
  return (
    text
      .toWellFormed()
      .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
      .trim() || "something without words"
  );
}

function shorten(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
