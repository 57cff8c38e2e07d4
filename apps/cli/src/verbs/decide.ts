import type { Command } from "commander";
import { type Approval, ask, type Task } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { findTask } from "../find-task.ts";
import { makeVisible } from "../terminal/visible.ts";
import { layArguments, showForDecision } from "../show/card.ts";
import { rememberedOf } from "../show/card-sections.ts";
import { answerOf, settlementOf } from "../show/words.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";
import {
  type ApproveOptions,
  type Choices,
  type DecisionOptions,
  readChoices,
  withChoices,
  withDecision,
  withDigest,
} from "./decision-options.ts";

const outcomes = { done: "done", retry: "retry", "give-up": "give_up" } as const;

/** The verbs that decide: approve, deny, resolve, answer, done, dismiss. */
export function addDecisionVerbs(tasks: Command): void {
  addVerb<ApproveOptions>(tasks, {
    usage: "approve <task>",
    summary: "Show everything that will run, then approve it; asks first, or takes --digest",
    options: (command) => withChoices(withDecision(withDigest(command))),
    run: async (cli, [given = ""], options) => decide(cli, given, "approve", options, await readChoices(options)),
  });

  addVerb<DecisionOptions>(tasks, {
    usage: "deny <task>",
    summary: "Deny what a card asks for; nothing of it runs",
    options: withDecision,
    run: (cli, [given = ""], options) => decide(cli, given, "deny", options),
  });

  addVerb<DecisionOptions>(tasks, {
    usage: "resolve <task> <outcome>",
    summary: "Say what became of a call nobody can vouch for: done, retry or give-up",
    options: (command) => withDecision(withDigest(command)),
    run(cli, [given = "", outcome = ""], options) {
      if (!Object.hasOwn(outcomes, outcome)) {
        throw new CliError("usage", `${JSON.stringify(outcome)} is no outcome; say done, retry or give-up.`);
      }
      return decide(cli, given, outcomes[outcome as keyof typeof outcomes], options);
    },
  });

  addVerb<{ option?: number }>(tasks, {
    usage: "answer <task> [answer...]",
    summary: "Answer a question in words, or with one of its options",
    options: (command) => command.option("--option <number>", "the option of this number", wholeNumber(1, 100)),
    async run(cli, [given = "", ...words], { option }) {
      if (option !== undefined && words.length > 0)
        throw new CliError("usage", "Answer in words or with --option, not both: only one of them can be the answer.");
      const task = await findTask(cli.client, given);
      if (task.question === null) throw wrongKind(task, "answered");
      const answer = option === undefined ? words.join(" ") : task.question.options[option - 1];
      if (answer === undefined) {
        throw new CliError("usage", `The question has no option ${option}; it has ${task.question.options.length}.`);
      }
      if (answer === "")
        throw new CliError("usage", "What is the answer? Give it as words, or one of the options with --option.");
      const { id } = task;
      const answered = await ask(cli.client.v1.tasks[":id"].answer.$post({ param: { id }, json: { answer } }));
      tell(cli, answered);
    },
  });

  addVerb(tasks, {
    usage: "done <task>",
    summary: "Mark a plain task done",
    async run(cli, [given = ""]) {
      const task = await findTask(cli.client, given);
      if (task.kind !== "task") throw wrongKind(task, "marked done");
      tell(cli, await ask(cli.client.v1.tasks[":id"].done.$post({ param: { id: task.id } })));
    },
  });

  addVerb(tasks, {
    usage: "dismiss <task>",
    summary: "Leave a question without an answer, or drop a plain task",
    async run(cli, [given = ""]) {
      const task = await findTask(cli.client, given);
      if (task.approval !== null) throw wrongKind(task, "dismissed");
      const { id } = task;
      tell(cli, await ask(cli.client.v1.tasks[":id"].dismiss.$post({ param: { id }, header: {}, json: {} })));
    },
  });
}

type Answer = "approve" | "deny" | (typeof outcomes)[keyof typeof outcomes];

/**
 * Decides the approval of a card on exactly what was shown: its version and digest go with the decision. Whatever lets
 * something run is shown whole first and needs a yes at the terminal, or the digest from who has seen it before.
 */
async function decide(
  cli: Cli,
  given: string,
  answer: Answer,
  options: DecisionOptions,
  asked: Choices = {},
): Promise<void> {
  const task = await findTask(cli.client, given);
  const { approval } = task;
  const isOutcome = answer !== "approve" && answer !== "deny";
  if (approval === null || (task.kind === "outcome") !== isOutcome) throw wrongKind(task, words[answer]);
  const choices = withRemembered(approval, asked);
  if (approval.status === "pending" && answer !== "deny")
    await makeSure(cli, task, approval, answer, options.digest, choices);

  const { feedback, note } = options;
  const decided = await ask(
    cli.client.v1.approvals[":id"].decision.$post({
      param: { id: approval.id },
      header: { "if-match": `"${approval.version}"` },
      json: {
        answer,
        argsDigest: approval.argsDigest,
        ...(feedback === undefined ? {} : { feedback }),
        ...(note === undefined ? {} : { note }),
        ...choices,
      },
    }),
  );
  tell(cli, { ...task, approval: decided.approval }, decided.together?.length);
}

/** With what the rule is to hold, where nothing narrower or wider was asked for: what is shown is what is sent. */
function withRemembered(approval: Approval, choices: Choices): Choices {
  const { remember, editedArgs } = choices;
  if (remember === undefined || remember.units !== undefined || editedArgs !== undefined) return choices;
  const units = rememberedOf(approval.card);
  return Array.isArray(units) ? { ...choices, remember: { ...remember, units } } : choices;
}

const words: Readonly<Record<Answer, string>> = {
  approve: "approved",
  deny: "denied",
  done: "resolved",
  retry: "resolved",
  give_up: "resolved",
};

const questions: Readonly<Record<Answer, string>> = {
  approve: "Approve this?",
  deny: "Deny this?",
  done: "Record it as done?",
  retry: "Run it again?",
  give_up: "Record it as given up?",
};

async function makeSure(
  cli: Cli,
  task: Task,
  approval: Approval,
  answer: Answer,
  digest: string | undefined,
  choices: Choices,
): Promise<void> {
  if (!cli.isJson) cli.print([...showForDecision(task, cli.terminal), ...showChoices(approval, choices, cli)]);
  if (digest !== undefined) {
    if (digest === approval.argsDigest) return;
    throw new CliError(
      "conflict",
      `The digest is not that of what would run now, which is ${approval.argsDigest}. Look at it again: ./countersign tasks show ${shortId(task.id)}`,
      { argsDigest: approval.argsDigest },
    );
  }
  if (!cli.terminal.isInteractive || cli.isJson) {
    throw new CliError(
      "usage",
      `Nobody can be asked here. To go on, repeat the command with --digest ${approval.argsDigest}`,
      { argsDigest: approval.argsDigest, approval },
    );
  }
  const question = questions[answer];
  if (await cli.terminal.confirm(`\n${cli.terminal.style.bold(question)} [y/N] `)) return;
  throw new CliError("error", "Nothing was decided; the card waits on.");
}

/** What the approval comes to beyond the card, before it is given. */
function showChoices(approval: Approval, choices: Choices, { terminal }: Cli): string[] {
  const { editedArgs, remember, selectedOption, equal } = choices;
  const { style } = terminal;
  const units = remember?.units ?? (editedArgs === undefined ? rememberedOf(approval.card) : undefined);
  const held = units === "all" ? "whatever the tool does" : (units ?? ["exactly what it touches"]).join(", ");
  return [
    ...(editedArgs === undefined
      ? []
      : ["", style.bold("  Instead, as you changed them"), ...layArguments(editedArgs, terminal)]),
    ...(selectedOption === undefined ? [] : ["", `  ${style.bold("With the option")} ${makeVisible(selectedOption)}`]),
    ...(remember === undefined
      ? []
      : ["", `  ${style.bold(`Remembered for the ${remember.scope}:`)} ${makeVisible(held)}`]),
    ...(equal === true ? ["", `  ${style.bold("Together with")} ${approval.equal} that ask for the very same`] : []),
  ];
}

function tell(cli: Cli, task: Task, together = 0): void {
  if (cli.isJson) return cli.printJson(task);
  const { style } = cli.terminal;
  const said =
    task.approval === null ? (task.question === null ? task.status : answerOf(task.question)) : votesOf(task.approval);
  const next = task.run === null ? [] : [style.dim(`Its run: ./countersign runs watch ${shortId(task.run.id)}`)];
  const others = together === 0 ? "" : `, and ${together} more that ask for the same`;
  cli.print([`${style.green("✔")} ${said}${others}`, ...next]);
}

/** How an approval stands after a decision: settled, or with a vote more. */
function votesOf(approval: Approval): string {
  if (approval.status !== "pending" || approval.votes.length === 0) return settlementOf(approval);
  const votes = approval.votes.filter(({ answer }) => answer === "approve" || answer === "retry").length;
  return `your vote counts: ${votes} of the ${approval.quorum} that are needed`;
}

const ways: Readonly<Record<Task["kind"], string>> = {
  approval: "approve or deny it",
  outcome: "resolve it with done, retry or give-up",
  question: "answer or dismiss it",
  task: "mark it done or dismiss it",
};

function wrongKind(task: Task, asked: string): CliError {
  return new CliError(
    "usage",
    `This card cannot be ${asked}; ${task.status === "open" ? ways[task.kind] : `it is ${task.status}`}: ./countersign tasks show ${shortId(task.id)}`,
  );
}
