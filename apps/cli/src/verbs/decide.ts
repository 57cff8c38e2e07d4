import type { Command } from "commander";
import { type Approval, ask, type Task } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { findTask } from "../find-task.ts";
import { showTask } from "../show/card.ts";
import { answerOf, settlementOf } from "../show/words.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";

interface DecisionOptions {
  readonly digest?: string;
  readonly feedback?: string;
  readonly note?: string;
}

const outcomes = { done: "done", retry: "retry", "give-up": "give_up" } as const;

/** The verbs that decide: approve, deny, resolve, answer, done, dismiss. */
export function addDecisionVerbs(tasks: Command): void {
  addVerb<DecisionOptions>(tasks, {
    usage: "approve <task>",
    summary: "Show everything that will run, then approve it; asks first, or takes --digest",
    options: (command) => withDecision(withDigest(command)),
    run: (cli, [given = ""], options) => decide(cli, given, "approve", options),
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

function withDigest(command: Command): Command {
  return command.option("--digest <digest>", "the digest that was shown; needed where nobody can be asked");
}

function withDecision(command: Command): Command {
  return command
    .option("--feedback <text>", "goes to the agent")
    .option("--note <text>", "stays with the approval, for approvers");
}

type Answer = "approve" | "deny" | (typeof outcomes)[keyof typeof outcomes];

/**
 * Decides the approval of a card on exactly what was shown: its version and digest go with the decision. Whatever lets
 * something run is shown whole first and needs a yes at the terminal, or the digest from who has seen it before.
 */
async function decide(cli: Cli, given: string, answer: Answer, options: DecisionOptions): Promise<void> {
  const task = await findTask(cli.client, given);
  const { approval } = task;
  const isOutcome = answer !== "approve" && answer !== "deny";
  if (approval === null || (task.kind === "outcome") !== isOutcome) throw wrongKind(task, words[answer]);
  if (approval.status === "pending" && answer !== "deny") await makeSure(cli, task, approval, answer, options.digest);

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
      },
    }),
  );
  tell(cli, { ...task, approval: decided.approval });
}

const words: Readonly<Record<Answer, string>> = {
  approve: "approved",
  deny: "denied",
  done: "resolved",
  retry: "resolved",
  give_up: "resolved",
};

async function makeSure(
  cli: Cli,
  task: Task,
  approval: Approval,
  answer: Answer,
  digest: string | undefined,
): Promise<void> {
  if (!cli.isJson) cli.print(showTask(task, cli.terminal));
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
      `Nobody can be asked here. To approve what was shown, repeat the command with --digest ${approval.argsDigest}`,
      { argsDigest: approval.argsDigest, approval },
    );
  }
  const question = answer === "approve" ? "Approve this?" : `Answer ${answer.replace("_", " ")}?`;
  if (await cli.terminal.confirm(`\n${cli.terminal.style.bold(question)} [y/N] `)) return;
  throw new CliError("error", "Nothing was decided; the card waits on.");
}

function tell(cli: Cli, task: Task): void {
  if (cli.isJson) return cli.printJson(task);
  const { style } = cli.terminal;
  const said =
    task.approval === null
      ? task.question === null
        ? task.status
        : answerOf(task.question)
      : settlementOf(task.approval);
  const next = task.run === null ? [] : [style.dim(`Its run: ./countersign runs watch ${shortId(task.run.id)}`)];
  cli.print([`${style.green("✔")} ${said}`, ...next]);
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
    `This card cannot be ${asked}; ${ways[task.kind]}: ./countersign tasks show ${shortId(task.id)}`,
  );
}
