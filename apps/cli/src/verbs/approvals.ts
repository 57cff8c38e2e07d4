import { createHash } from "node:crypto";
import type { Command } from "commander";
import { ask, type Task } from "../client.ts";
import { CliError } from "../exit.ts";
import { findListedId, shortId } from "../find-id.ts";
import { findTask } from "../find-task.ts";
import { findPersonId } from "../find-user.ts";
import { span } from "../scope.ts";
import { showReceipt } from "../show/receipt.ts";
import { momentOf, untilOf } from "../show/words.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";

/** The verbs about who decides and until when: extend, delegate, delegations, take-back, receipt. */
export function addApprovalVerbs(tasks: Command): void {
  addVerb<{ by: number }>(tasks, {
    usage: "extend <task>",
    summary: "Give an approval more time before it expires",
    options: (command) => command.requiredOption("--by <span>", "by how much, such as 30m, 4h or 2d", span),
    async run(cli, [given = ""], { by }) {
      const { id, expiresAt } = await approvalOf(cli, given);
      if (expiresAt === null)
        throw new CliError("usage", "This approval has no deadline; it waits until somebody decides.");
      const until = new Date(new Date(expiresAt).getTime() + by).toISOString();
      const extended = await ask(cli.client.v1.approvals[":id"].extension.$post({ param: { id }, json: { until } }));
      if (cli.isJson) return cli.printJson(extended);
      cli.print([`${cli.terminal.style.green("✔")} waits ${untilOf(until)}`]);
    },
  });

  addVerb<{ for: number; task?: string }>(tasks, {
    usage: "delegate <user>",
    summary:
      "Let somebody decide on your say for a time, where the definitions allow it; <user> is a name or an id, as people ls shows them",
    options: (command) =>
      command
        .requiredOption("--for <span>", "for how long, such as 4h or 2d", span)
        .option("--task <task>", "for the approval of this card alone"),
    async run(cli, [given = ""], { for: ms, task }) {
      const to = await findPersonId(cli.client, given);
      const approvalId = task === undefined ? {} : { approvalId: (await approvalOf(cli, task)).id };
      const until = new Date(Date.now() + ms).toISOString();
      const made = await ask(cli.client.v1.delegations.$post({ json: { to, until, ...approvalId } }));
      if (cli.isJson) return cli.printJson(made);
      const { style } = cli.terminal;
      cli.print([
        `${style.green("✔")} ${makeVisible(made.to.name)} decides on your say ${untilOf(until)}`,
        style.dim(`Take it back: ./countersign tasks take-back ${shortId(made.id)}`),
      ]);
    },
  });

  addVerb(tasks, {
    usage: "delegations",
    summary: "Who decides on whose say",
    async run(cli) {
      const { delegations } = await ask(cli.client.v1.delegations.$get({ query: { limit: 200 } }));
      if (cli.isJson) return cli.printJson(delegations);
      if (delegations.length === 0) return cli.print(["Nobody decides on another's say."]);
      cli.print(
        delegations.map(({ id, from, to, approvalId, expiresAt, revokedAt }) => {
          const what = approvalId === null ? "all" : `approval ${shortId(approvalId)}`;
          const end = revokedAt === null ? untilOf(expiresAt) : `taken back ${momentOf(revokedAt)}`;
          return `${shortId(id)}  ${makeVisible(to.name)} on the say of ${makeVisible(from.name)}, for ${what}, ${end}`;
        }),
      );
    },
  });

  addVerb(tasks, {
    usage: "take-back <delegation>",
    summary: "Take back a say that was handed over",
    async run(cli, [given = ""]) {
      const id = await findListedId("delegation", given, async (query) => {
        const { delegations, nextCursor } = await ask(cli.client.v1.delegations.$get({ query }));
        return { ids: delegations.map((one) => one.id), nextCursor };
      });
      const over = await ask(cli.client.v1.delegations[":id"].$delete({ param: { id } }));
      if (cli.isJson) return cli.printJson(over);
      cli.print([
        `${cli.terminal.style.green("✔")} ${makeVisible(over.to.name)} decides no more on the say of ${makeVisible(over.from.name)}`,
      ]);
    },
  });

  addVerb(tasks, {
    usage: "receipt <task>",
    summary: "What was shown to whom and what they said of it, checked against the seal; exit code 1 where it differs",
    async run(cli, [given = ""]) {
      const { id } = await approvalOf(cli, given);
      const receipt = await ask(cli.client.v1.approvals[":id"].receipt.$get({ param: { id } }));
      const hash = createHash("sha256").update(receipt.card).digest("hex");
      const isSound = receipt.entries.every(
        ({ details }) => shownIn(details) === undefined || shownIn(details) === hash,
      );
      if (cli.isJson) cli.printJson({ ...receipt, isSound });
      else cli.print(showReceipt(receipt, isSound, cli.terminal));
      if (!isSound) throw new CliError("error", "The card is not the one that was shown when this was decided.");
    },
  });
}

/** The hash of the card that an entry of the audit says was shown; undefined where it speaks of none. */
function shownIn(details: string | null): string | undefined {
  const { cardHash } = JSON.parse(details ?? "{}") as { cardHash?: string };
  return cardHash;
}

async function approvalOf(cli: Cli, given: string): Promise<NonNullable<Task["approval"]>> {
  const { approval, id } = await findTask(cli.client, given);
  if (approval !== null) return approval;
  throw new CliError("usage", `This card asks for no approval: ./countersign tasks show ${shortId(id)}`);
}
