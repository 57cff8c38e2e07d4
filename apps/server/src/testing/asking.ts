import type { Sql } from "@countersign/db/connect.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aGatedCall, aTurn, claimRun, givenRun, type World } from "@countersign/engine/testing/fixtures.ts";
import { registerTools } from "@countersign/engine/tools.ts";
import { hashArguments } from "@countersign/gate/canonical.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { v7 as newId } from "uuid";
import { type Answer, agentSpec, send, type TestServer } from "./harness.ts";

const tools = registerTools(createCatalog());

export const mail = { to: ["ann@example.com"], subject: "Hello", text: "Good morning" };

export interface Asked {
  readonly runId: string;
  readonly callId: string;
  readonly approvalId: string;
  readonly argsDigest: string;
}

/** From here on runs of the world's definition ask as its approver rule says. */
export async function setApprovers(sql: Sql, world: World, approvers: object): Promise<void> {
  await sql`
    update definition_versions set spec = ${JSON.stringify({ ...agentSpec, approvers })}::text::json
     where definition_id = ${world.definitionId}`;
}

/** A run that waits for a person to decide on a mail with these very arguments. */
export async function givenMail(
  sql: Sql,
  world: World,
  over: {
    readonly args?: object;
    readonly startedBy?: string;
    readonly expiresMs?: number;
    readonly card?: object;
  } = {},
): Promise<Asked> {
  const args = JSON.stringify(over.args ?? mail);
  const argsDigest = hashArguments(args);
  const runId = await givenRun(sql, world, over.startedBy === undefined ? {} : { startedBy: over.startedBy });
  const hold = await claimRun(sql, runId);
  const approvalId = newId();
  const card = { taskId: newId(), title: "mail.send", body: JSON.stringify(over.card ?? { tool: "mail.send", args }) };
  const call = aGatedCall({
    args,
    argsHash: argsDigest,
    definitionHash: tools.get("mail.send")?.definitionHash ?? "",
    next: { kind: "approval", approvalId, card, expiresMs: over.expiresMs },
  });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  return { runId, callId: call.id, approvalId, argsDigest };
}

/** Sends a decision on what GET shows of an approval at version 1. */
export async function sendDecision(
  server: Pick<TestServer, "url">,
  token: string | undefined,
  { approvalId, argsDigest }: Pick<Asked, "approvalId" | "argsDigest">,
  body: object,
): Promise<Answer> {
  return await send(server, token, "POST", `/v1/approvals/${approvalId}/decision`, {
    headers: { "if-match": '"1"' },
    body: { argsDigest, ...body },
  });
}
