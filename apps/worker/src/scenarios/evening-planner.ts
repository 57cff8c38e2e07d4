import type { Line, Stage } from "@countersign/engine/scripted-model.ts";
import { replyToSteers, resultOf, textOf } from "./results.ts";

/** Finds the evenings on which the workshop is free, asks a person which one it is to be, and writes it down. */
export function eveningPlanner(stage: Stage): Line {
  if (resultOf(stage, "kb.read") === undefined) {
    return {
      say: "I read which evenings are free.",
      use: [{ tool: "kb.read", args: { page: "Repair evenings" } }],
    };
  }
  const page = textOf(stage, "kb.read");
  const free = [...page.matchAll(/^[ \t]*- Free: ([^<\n]+)(?:<!--|$)/gm)].map(([, day]) => (day ?? "").trim());
  if (free.length === 0) {
    return { say: "The page Repair evenings names no free evening, so there is nothing to choose from." };
  }
  const asked = resultOf(stage, "human.ask");
  if (asked === undefined) {
    return {
      say: "Which of them is a matter of taste; I ask.",
      use: [
        {
          tool: "human.ask",
          args: {
            question: "On which evening shall the December repair evening be?",
            options: free,
            context: "The workshop is free on these evenings. Announcements go out a week before.",
          },
        },
      ],
    };
  }
  if (asked.isError) return { say: `Nobody chose an evening (${asked.content}), so none is set.` };
  if (resultOf(stage, "kb.append") === undefined) {
    return {
      use: [{ tool: "kb.append", args: { page: "Repair evenings", text: `December: ${asked.content}` } }],
    };
  }
  const outcome = `The December repair evening is on: ${asked.content}. It stands on the page Repair evenings.`;
  return { say: [outcome, replyToSteers(stage)].filter(Boolean).join(" ") };
}
