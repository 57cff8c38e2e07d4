import { commitWithin } from "@countersign/engine/commit.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aGatedCall, aTurn, claimRun, givenRun, type World } from "@countersign/engine/testing/fixtures.ts";
import type { Sql } from "@countersign/db/connect.ts";
import type { Locator, Page } from "playwright-core";
import { v7 as newId } from "uuid";

/** What a card is to show. */
export interface GivenCard {
  readonly tool?: string;
  readonly title?: string;
  readonly args?: string;
  /** Cards of the same one ask for the very same. */
  readonly argsHash?: string;
  readonly body?: object;
  readonly expiresMs?: number;
  readonly siblings?: number;
  readonly runTitle?: string;
}

/** A run that waits on a card such as this one. */
export async function givenCard(sql: Sql, world: World, given: GivenCard = {}) {
  const {
    tool = "mail.send",
    title = tool,
    args = "{}",
    argsHash,
    body = {},
    expiresMs,
    siblings = 0,
    runTitle,
  } = given;
  const runId = await givenRun(sql, world, runTitle === undefined ? {} : { title: runTitle });
  const hold = await claimRun(sql, runId);
  const cards = Array.from({ length: siblings + 1 }, (_, position) => {
    const [taskId, approvalId] = [newId(), newId()];
    const card = { taskId, title, body: JSON.stringify({ tool, ...body }) };
    const next = { kind: "approval", approvalId, card, expiresMs } as const;
    return {
      taskId,
      approvalId,
      call: aGatedCall({
        tool,
        args,
        position,
        next,
        ...(argsHash === undefined ? {} : { argsHash: position === 0 ? argsHash : `${argsHash}-${position}` }),
      }),
    };
  });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: cards.map(({ call }) => call) }));
  const [first] = cards;
  if (first === undefined) throw new Error("a run has at least one card");
  return { runId, hold, callId: first.call.id, taskId: first.taskId, approvalId: first.approvalId, cards };
}

/** The card of a task, wherever on a page it stands. */
export function cardOf(page: Page, taskId: string): Locator {
  return page.locator(`[data-task="${taskId}"]`);
}

/** A card that has stood still for long enough to be decided on. */
export async function standing(page: Page, taskId: string): Promise<Locator> {
  const card = cardOf(page, taskId);
  await card.waitFor();
  await page.waitForFunction(
    (id) => document.querySelector<HTMLElement>(`[data-task="${id}"]`)?.dataset["armed"] === "true",
    taskId,
  );
  return card;
}

/** What the server has of an approval's decision. */
export async function decisionOf(sql: Sql, approvalId: string) {
  const [row] = await sql`select status, answer, feedback, note from approvals where id = ${approvalId}`;
  return row;
}
