import type { Command } from "commander";
import { ask, type Client, type Run, type RunStatus, type RunTree } from "../client.ts";
import { CliError } from "../exit.ts";
import { findRunId, listRuns, shortId } from "../find-id.ts";
import { openCards, showLogLine, showWaiting, textOf } from "../show/log-line.ts";
import { paragraph } from "../show/paragraph.ts";
import { momentOf, sayHeld, statusOf } from "../show/words.ts";
import { momentIn, span } from "../scope.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";
import {
  approvalPolicies,
  type ApprovalPolicy,
  type DialLevel,
  dialLevels,
  oneOf,
  type PresetName,
  presetNames,
} from "./dial.ts";
import { readAll } from "./read-all.ts";
import { watchRun } from "./watch-run.ts";

const statuses: readonly RunStatus[] = ["queued", "running", "paused", "completed", "failed", "canceled"];

interface WatchOptions {
  readonly timeout?: number;
}

interface StartOptions extends WatchOptions, UnaskedOptions {
  readonly title?: string;
  readonly key?: string;
  readonly watch?: boolean;
}

interface UnaskedOptions {
  readonly dial?: DialLevel;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly preset?: PresetName;
  readonly autoApprove?: boolean;
  readonly yolo?: boolean;
  readonly for?: number;
}

/** `countersign runs …` */
export function addRunVerbs(program: Command): void {
  const runs = program.command("runs").description("Runs: list, look, follow, start, steer, cancel, resume");

  addVerb<{ status?: RunStatus; limit: number }>(runs, {
    usage: "ls",
    isDefault: true,
    summary: "The newest runs",
    options: (command) =>
      command
        .option("--status <status>", `only those that are ${statuses.join(", ")}`)
        .option("--limit <count>", "how many", wholeNumber(1, 200), 20),
    async run(cli, _args, { status, limit }) {
      if (status !== undefined && !statuses.includes(status)) {
        throw new CliError("usage", `There is no status ${JSON.stringify(status)}; runs are ${statuses.join(", ")}.`);
      }
      const found = await listRuns(cli.client, limit, status);
      if (cli.isJson) return cli.printJson(found);
      if (found.length === 0) return cli.print([status === undefined ? "No runs yet." : `No run is ${status}.`]);
      const { style, size } = cli.terminal;
      const rows = found.map((run) => [
        { text: shortId(run.id), paint: style.cyan },
        statusOf(run, style),
        { text: `${makeVisible(run.title)}${run.isClosed === true ? " (closed to you)" : ""}` },
        { text: makeVisible(run.definition), paint: style.dim },
        { text: relativeTime(run.createdAt), paint: style.dim },
      ]);
      cli.print(layTable(rows, 2, size().columns));
    },
  });

  addVerb(runs, {
    usage: "get <run>",
    summary: "One run with everything that it did",
    async run(cli, [given = ""]) {
      const id = await findRunId(cli.client, given);
      const tree = await readWholeTree(cli.client, id);
      if (cli.isJson) cli.printJson(tree);
      else cli.print(showTree(tree, cli));
    },
  });

  addVerb<WatchOptions>(runs, {
    usage: "watch <run>",
    summary: "Follow a run until it ends; Ctrl-C leaves it alone",
    options: withTimeout,
    async run(cli, [given = ""], { timeout }) {
      await watchRun(cli, await findRunId(cli.client, given), timeout);
    },
  });

  addVerb<StartOptions>(runs, {
    usage: "start <definition> [input...]",
    summary: "Start a run; without input it is read from standard input",
    options: (command) =>
      withTimeout(
        command
          .option("--title <title>", "what lists show; else the first line of the input")
          .option("--key <key>", "start only once: the same key again finds the first run")
          .option("--watch", "follow the run")
          .option("--dial <level>", `what runs unasked: ${dialLevels.join(", ")}`, oneOf(dialLevels))
          .option(
            "--approval-policy <level>",
            `which calls ask: ${approvalPolicies.join(", ")}`,
            oneOf(approvalPolicies),
          )
          .option(
            "--preset <name>",
            `dial, approval policy and rules together: ${presetNames.join(", ")}`,
            oneOf(presetNames),
          )
          .option("--auto-approve", "run everything unasked that no floor, rule or denylist holds back")
          .option("--yolo", "the same as --auto-approve")
          .option("--for <span>", "how long the dial holds, such as 30m", span),
      ),
    async run(cli, [definition = "", ...words], { title, key, watch, timeout, ...unasked }) {
      const input = await inputOf(cli, words);
      const body = {
        ...policyOf(unasked),
        definition,
        input,
        ...(title === undefined ? {} : { title }),
        ...(key === undefined ? {} : { key }),
      };
      const run = await ask(cli.client.v1.runs.$post({ header: {}, json: body }));
      if (watch === true) return await watchRun(cli, run.id, timeout);
      tellRun(cli, run, [`Started ${shortId(run.id)}. Follow it with: ./countersign runs watch ${shortId(run.id)}`]);
    },
  });

  addVerb(runs, {
    usage: "steer <run> [message...]",
    summary: "Say something to a live run; it reads it before its next turn",
    async run(cli, [given = "", ...words]) {
      const message = await inputOf(cli, words);
      const id = await findRunId(cli.client, given);
      const sent = await ask(cli.client.v1.runs[":id"].steer.$post({ param: { id }, header: {}, json: { message } }));
      if (cli.isJson) cli.printJson(sent);
      else cli.print([`Queued as message ${sent.n}; the run reads it before its next turn.`]);
    },
  });

  addVerb<{ reason?: string }>(runs, {
    usage: "cancel <run>",
    summary: "Cancel a run",
    options: (command) => command.option("--reason <text>", "why"),
    async run(cli, [given = ""], { reason }) {
      const id = await findRunId(cli.client, given);
      const json = reason === undefined ? {} : { reason };
      const run = await ask(cli.client.v1.runs[":id"].cancel.$post({ param: { id }, json }));
      tellRun(cli, run, [`Canceled: ${makeVisible(run.title)}`]);
    },
  });

  addVerb(runs, {
    usage: "resume <run>",
    summary: "Let a run in quarantine go on, once what kept stopping it is mended",
    async run(cli, [given = ""]) {
      const id = await findRunId(cli.client, given);
      const run = await ask(cli.client.v1.runs[":id"].resume.$post({ param: { id } }));
      tellRun(cli, run, [`In no quarantine: ${makeVisible(run.title)}`]);
    },
  });
}

function withTimeout(command: Command): Command {
  return command.option(
    "--timeout <seconds>",
    "stop following after so long, with exit code 5",
    wholeNumber(1, 1_000_000),
  );
}

function tellRun(cli: Cli, run: Run, lines: readonly string[]): void {
  if (cli.isJson) cli.printJson(run);
  else cli.print(lines);
}

/** What a run is to be started with, beside its input: nothing unless an option says so. */
function policyOf({ dial, approvalPolicy, preset, autoApprove, yolo, for: ms }: UnaskedOptions) {
  const isYolo = autoApprove === true || yolo === true;
  if (preset !== undefined) {
    if (isYolo || dial !== undefined || approvalPolicy !== undefined || ms !== undefined)
      throw new CliError("usage", "--preset sets dial and policy for the whole run: give it without the others.");
    return { preset };
  }
  if (isYolo && (dial !== undefined || approvalPolicy !== undefined))
    throw new CliError(
      "usage",
      "--auto-approve and --yolo set dial and policy: leave out --dial and --approval-policy.",
    );
  const level = isYolo ? "high" : dial;
  if (ms !== undefined && level === undefined)
    throw new CliError("usage", "--for needs --dial, --auto-approve or --yolo.");
  const policy = isYolo ? "none" : approvalPolicy;
  return {
    ...(level === undefined ? {} : { dial: { level, ...(ms === undefined ? {} : { expiresAt: momentIn(ms) }) } }),
    ...(policy === undefined ? {} : { approvalPolicy: policy }),
  };
}

async function inputOf({ terminal }: Cli, words: readonly string[]): Promise<string> {
  if (words.length > 0) return words.join(" ");
  const text = terminal.isInteractive ? "" : (await readAll(process.stdin)).trim();
  if (text === "") throw new CliError("usage", "There is no text. Give it as arguments, or on standard input.");
  return text;
}

/** All parts as one. How the run and its messages stand is as of the last. */
async function readWholeTree(client: Client, id: string): Promise<RunTree> {
  const read = async (after: number): Promise<RunTree> =>
    await ask(client.v1.runs[":id"].tree.$get({ param: { id }, query: { after, limit: 1000 } }));
  let tree = await read(0);
  while (tree.nextAfter !== null) {
    const { entries, prevBefore } = tree;
    const part = await read(tree.nextAfter);
    tree = { ...part, entries: [...entries, ...part.entries], prevBefore };
  }
  return tree;
}

function showTree(tree: RunTree, { terminal }: Pick<Cli, "terminal">): string[] {
  const { style } = terminal;
  const { run, entries, steers } = tree;
  const status = statusOf(run, style);
  const calls = entries.flatMap((entry) => entry.calls);
  const unread = steers.filter((steer) => steer.state !== "read");
  return [
    `${style.bold(makeVisible(run.title))}  ${status.paint(status.text)}`,
    style.dim(
      `${makeVisible(run.definition)} version ${run.definitionVersion}, started by ${makeVisible(run.startedBy.name)} ${momentOf(run.createdAt)}`,
    ),
    style.dim(`${run.turns} turns, ${run.callCount} calls, ${run.inputTokens + run.outputTokens} tokens · ${run.id}`),
    ...(run.heldBy === null ? [] : paragraph(`⏸ ${sayHeld(run.heldBy)}`, terminal, 0, 2).map(style.yellow)),
    "",
    ...entries.flatMap((entry) => [
      ...showLogLine(entry, entry.calls, terminal),
      ...entry.calls.flatMap((call) => call.log.flatMap((line) => showLogLine(line, [call], terminal))),
    ]),
    ...calls.flatMap((call) => (openCards(call).length === 0 ? [] : showWaiting(call, terminal))),
    ...unread.map((steer) =>
      style.dim(
        `  · ${makeVisible(steer.author.name)} said, ${steer.state === "queued" ? "not read yet" : "too late"}: ${makeVisible(textOf(steer.message))}`,
      ),
    ),
  ];
}
