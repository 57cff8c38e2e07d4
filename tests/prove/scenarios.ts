import type { Model } from "@countersign/engine/model.ts";
import { createScriptedModel } from "@countersign/engine/scripted-model.ts";

/** What a run of `crash` says at its end, where everything happened as it should. */
export const expectedOutput = "done; told: and be quick; answered: blue";

/** The model of the proofs that kill processes. */
export const proofModel: Model = createScriptedModel({
  /** A free read, a write of our own and a mail that a person approves, at once; then a question; then the end. */
  crash: ({ turn, said, results }) => {
    if (turn === 0) {
      return {
        say: "a look, a note and a mail",
        use: [
          { tool: "tasks.list", args: {} },
          { tool: "tasks.create", args: { title: "follow up" } },
          { tool: "mail.send", args: { to: ["b@example.com"], subject: "hello", text: "once" } },
        ],
      };
    }
    if (turn === 1) return { say: "one question", use: [{ tool: "human.ask", args: { question: "which colour?" } }] };
    const answer = results.findLast(({ tool }) => tool === "human.ask")?.content ?? "nothing";
    return { say: `done; told: ${said.slice(1).join(" and ")}; answered: ${answer}` };
  },
  /** One mail that a person approves. */
  chaos: ({ turn }) =>
    turn === 0
      ? {
          say: "a mail",
          use: [{ tool: "mail.send", args: { to: ["b@example.com"], subject: "hello", text: "once" } }],
        }
      : { say: "done" },
});
