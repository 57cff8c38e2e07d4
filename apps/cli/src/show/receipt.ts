import { type ask, type Client } from "../client.ts";
import { shortId } from "../find-id.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { makeVisible } from "../terminal/visible.ts";
import { momentOf } from "./words.ts";

export type Receipt = Awaited<
  ReturnType<typeof ask<Awaited<ReturnType<Client["v1"]["approvals"][":id"]["receipt"]["$get"]>>>>
>;

/** A receipt for people: what was asked, what each person said of what they were shown, and where the audit has it. */
export function showReceipt(receipt: Receipt, isSound: boolean, { style }: Pick<Terminal, "style">): string[] {
  const facts: (readonly [string, string])[] = [
    ["Approval", receipt.approvalId],
    ["State", [receipt.status, receipt.answer, receipt.scope].filter((part) => part !== null).join(", ")],
    ["Run", `${receipt.runId}, call ${shortId(receipt.callId)}`],
    ["Why it asked", `${makeVisible(receipt.gateReason)} (row ${receipt.gateRow}), policy ${receipt.policyVersions}`],
    ["Arguments", receipt.argsHash],
    ...(receipt.editedArgsHash === null ? [] : [["Changed to", receipt.editedArgsHash] as const]),
    ...(receipt.selectedOption === null ? [] : [["Option", makeVisible(receipt.selectedOption)] as const]),
    ["Tool", receipt.definitionHash],
    ["Card", receipt.cardHash],
    ["Asked", momentOf(receipt.requestedAt)],
  ];
  const verdict = isSound
    ? style.green("✔ The card is the one that was shown each time.")
    : style.red("✘ The card is not the one that was shown.");
  const sealed = receipt.isSealed
    ? style.green("✔ Every entry has its place in the audit's chain. Check that: ./countersign audit verify")
    : style.yellow("○ Not all of it is sealed yet; a worker does that within a second.");
  return [
    style.bold(`Receipt of ${makeVisible(receipt.tool)}`),
    ...facts.map(([name, value]) => `  ${style.dim(name.padEnd(14))}${value}`),
    "",
    ...receipt.entries.flatMap((entry) => entryLines(entry, style)),
    "",
    verdict,
    sealed,
  ];
}

function entryLines(entry: Receipt["entries"][number], style: Terminal["style"]): string[] {
  const { way, answer, outcome } = JSON.parse(entry.details ?? "{}") as Record<string, string | undefined>;
  const who = makeVisible(entry.actorName ?? entry.actor);
  const what = [
    entry.action.replace("approval.", "").replaceAll("_", " "),
    answer,
    outcome === "decided" ? undefined : outcome,
  ];
  const seal = entry.seal === null ? "not sealed yet" : `row ${entry.seal.seq} · ${entry.seal.hash.slice(0, 16)}…`;
  return [
    `  ${style.bold(who)}  ${what.filter(Boolean).join(", ")}  ${style.dim(momentOf(entry.at))}`,
    `    ${style.dim([way, seal].filter(Boolean).join(" · "))}`,
  ];
}
