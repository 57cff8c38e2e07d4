import type { Line, Stage } from "@countersign/engine/scripted-model.ts";
import { replyToSteers, resultOf, textOf } from "./results.ts";

/** Looks up a late order, notes on the tool's page that it asks, and writes to the supplier: a person approves the mail. */
export function supplierFollowUp(stage: Stage): Line {
  if (resultOf(stage, "kb.grep") === undefined) {
    return {
      say: "I look up what we know about the belt sander.",
      use: [{ tool: "kb.grep", args: { pattern: "belt sander" } }],
    };
  }
  if (resultOf(stage, "kb.read") === undefined) {
    return {
      say: "It waits for a part. I read its page and the supplier's.",
      use: [
        { tool: "kb.read", args: { page: "Belt sander" } },
        { tool: "kb.read", args: { page: "Norvik Hardware" } },
      ],
    };
  }

  const pages = textOf(stage, "kb.read");
  const order = /\bN-\d+\b/.exec(pages)?.[0];
  const address = /(?<![\w.+-])[\w.+-]+@[\w-]+\.example\b/.exec(pages)?.[0];
  if (order === undefined || address === undefined) {
    return { say: "I found neither the order's number nor the supplier's address, so I wrote to nobody." };
  }
  if (resultOf(stage, "kb.append") === undefined) {
    return {
      say: `Order ${order} is late. I note on the page that I ask about it.`,
      use: [
        {
          tool: "kb.append",
          args: { page: "Belt sander", text: `Asking Norvik Hardware when order ${order} will arrive.` },
        },
      ],
    };
  }
  const mail = resultOf(stage, "mail.send");
  if (mail === undefined) {
    return {
      say: "Now the mail to the supplier. It leaves the house, so somebody has to countersign it.",
      use: [
        {
          tool: "mail.send",
          args: {
            to: [address],
            subject: `Order ${order}: when will the drive belt arrive?`,
            text: [
              "Hello,",
              "",
              `we ordered a drive belt for our belt sander as ${order} and were told to expect it within two weeks.`,
              "It has not arrived. Could you tell us when it will be sent, or whether it is out of stock?",
              "",
              "Kind regards",
              "Larkfield Tool Library",
            ].join("\n"),
          },
        },
      ],
    };
  }
  const outcome = mail.isError
    ? `The mail about ${order} was not sent: ${mail.content}. The note on the page stands.`
    : `I asked ${address} about order ${order} and noted it on the page Belt sander.`;
  return { say: [outcome, replyToSteers(stage)].filter(Boolean).join(" ") };
}
