import { z } from "zod";
import type { Approval, Question, Task } from "../client.ts";
import { shortId } from "../find-id.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { cardSections, narrationLines } from "./card-sections.ts";
import { layJson } from "./json-text.ts";
import { paragraph, type Place } from "./paragraph.ts";
import { answerOf, heldByOf, kindOf, momentOf, sayHeld, settlementOf } from "./words.ts";

/** What is taken from a card. Whatever else it holds is for other eyes; what runs is in the approval itself. */
const cardSchema = z.object({
  details: z.array(z.string()).catch([]),
  floorReasons: z.array(z.string()).catch([]),
  requires: z.array(z.string()).catch([]),
  known: z.string().optional().catch(undefined),
});

const closedLine =
  "Its run has read pages that are closed to you, so what it asks for is not shown. Those who may decide it see all of it.";

/**
 * A task as a person decides on it: everything that will run, whole, with every invisible, reordering or controlling
 * character made visible, and what the decision is bound to.
 */
export function showTask(task: Task, place: Place): string[] {
  const isOpen = task.status === "open" && task.isClosed !== true;
  return [...showWhole(task, place, stateOf(task)), ...(isOpen ? ["", ...commandLines(task, place)] : [])];
}

/** The same for whoever is deciding already: that it waits, and the commands that decide, are no news. */
export function showForDecision(task: Task, place: Place): string[] {
  return showWhole(task, place, undefined);
}

function showWhole(task: Task, place: Place, state: string | undefined): string[] {
  const { style } = place;
  const { sign, word } = kindOf(task);
  const what = task.approval?.tool ?? task.title;
  const isOpen = task.status === "open";
  const isClosed = task.isClosed === true;
  const head = [
    (isOpen ? style.yellow : style.dim)(sign),
    style.bold(makeVisible(task.approval === null ? what : task.approval.tool)),
    isOpen ? style.yellow(word) : style.dim(task.status),
    style.dim(relativeTime(task.createdAt)),
  ].join("  ");
  return [
    head,
    ...(isClosed
      ? ["", ...paragraph(closedLine, place, 2)]
      : [
          ...(task.approval === null ? [] : approvalLines(task.approval, place)),
          ...(task.question === null ? [] : questionLines(task.question, place)),
        ]),
    "",
    ...factLines(task, place, state),
  ];
}

function approvalLines(approval: Approval, place: Place): string[] {
  const { style } = place;
  const card = cardSchema.safeParse(approval.card).data;
  const details = card?.details ?? [];
  return [
    ...(card?.known === undefined ? [] : ["", ...paragraph(`What is known: ${card.known}`, place, 2)]),
    ...(details.length === 0 ? [] : ["", ...details.flatMap((line) => paragraph(line, place, 2))]),
    ...cardSections(approval.card, place),
    "",
    style.bold("  Arguments, all of them"),
    ...layArguments(approval.args, place),
    ...(approval.editedArgs === null
      ? []
      : ["", style.bold("  Instead, as a person changed them"), ...layArguments(approval.editedArgs, place)]),
    ...(approval.selectedOption === null ? [] : ["", ...paragraph(`Picked: ${approval.selectedOption}`, place, 2)]),
    ...narrationLines(approval.card, place),
  ];
}

/** Arguments as JSON, laid out whole, nothing of them unseen. */
export function layArguments(json: string, place: Place): string[] {
  return layJson(json).flatMap(({ indent, text }) => paragraph(text, place, 4 + indent, 2));
}

function questionLines(question: Question, place: Place): string[] {
  const { style } = place;
  return [
    "",
    ...paragraph(question.question, place, 2),
    ...(question.context === null ? [] : ["", ...paragraph(question.context, place, 2).map(style.dim)]),
    ...(question.options.length === 0 ? [] : [""]),
    ...question.options.flatMap((option, n) => paragraph(`${n + 1}  ${option}`, place, 4)),
    ...(question.answer === null ? [] : ["", ...paragraph(`Answer: ${question.answer}`, place, 2)]),
  ];
}

function factLines(task: Task, place: Place, state: string | undefined): string[] {
  const { approval, question, run } = task;
  const isClosed = task.isClosed === true;
  const card = approval === null ? undefined : cardSchema.safeParse(approval.card).data;
  const floors = (card?.floorReasons ?? []).filter((reason) => reason !== approval?.gateReason);
  const heldBy = heldByOf(task);
  const expiresAt = approval?.expiresAt ?? question?.expiresAt ?? null;
  const facts: (readonly [string, string | undefined])[] = [
    ["State", state],
    ["Held", heldBy === null ? undefined : `${sayHeld(heldBy)}\nNothing is decided until it is lifted.`],
    [
      "Why it asks",
      approval === null || isClosed
        ? undefined
        : `${[approval.gateReason, ...floors].join(", ")} (row ${approval.gateRow})`,
    ],
    ["Reaches", card === undefined || card.requires.length === 0 ? undefined : card.requires.join(", ")],
    [
      "Run",
      run === null ? undefined : `${run.title} · ${run.definition}, started by ${run.startedBy} · ${shortId(run.id)}`,
    ],
    ["Asked", momentOf(task.createdAt)],
    ["Decides", approval === null ? undefined : votesOf(approval)],
    [
      "Equal",
      approval === null || approval.equal === 0
        ? undefined
        : `${approval.equal} more ask for the very same; --equal decides them together`,
    ],
    ["Expires", expiresAt === null ? undefined : momentOf(expiresAt)],
    ["If not", question?.defaultAnswer == null ? undefined : `the answer is then: ${question.defaultAnswer}`],
    ["Task", task.id],
    ["Digest", approval === null || isClosed ? undefined : `${approval.argsDigest} (version ${approval.version})`],
  ];
  return facts.flatMap(([name, value]) => {
    if (value === undefined) return [];
    const [first = "", ...rest] = paragraph(value, place, 16);
    return [`  ${place.style.dim(name.padEnd(14))}${first.slice(16)}`, ...rest];
  });
}

/** Whose word is needed, where that is more than one, and whose there is. */
function votesOf({ quorum, votes }: Approval): string | undefined {
  if (quorum === 1) return undefined;
  const said = votes.map(
    ({ by, sayOf, answer }) => `${by.name}${sayOf === null ? "" : ` for ${sayOf.name}`} ${answer}`,
  );
  return [`${quorum} people have to approve`, ...said].join("; ");
}

function stateOf({ approval, question, status, resolvedAt, resolvedBy }: Task): string | undefined {
  if (approval !== null) return settlementOf(approval);
  if (question !== null) return answerOf(question);
  if (resolvedAt === null) return undefined;
  return `${status}${resolvedBy === null ? "" : ` by ${resolvedBy.name}`}, ${momentOf(resolvedAt)}`;
}

/** What one can do about an open task, as commands to copy; under a kill switch, where to see what is held. */
export function commandLines(task: Task, { style }: Pick<Place, "style">): string[] {
  if (heldByOf(task) !== null) return [`  ${style.cyan("./countersign kill ls")}`];
  const id = shortId(task.id);
  const commands = {
    approval: [`approve ${id}`, `deny ${id} --feedback "why not"`],
    outcome: [`resolve ${id} done`, `resolve ${id} retry`, `resolve ${id} give-up`],
    question: [
      task.question?.options.length ? `answer ${id} --option 1` : `answer ${id} "your answer"`,
      `dismiss ${id}`,
    ],
    task: [`done ${id}`, `dismiss ${id}`],
  }[task.kind];
  return commands.map((command) => `  ${style.cyan(`./countersign tasks ${command}`)}`);
}
