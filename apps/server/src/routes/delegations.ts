import { delegateSay } from "@countersign/engine/commits/delegate-say.ts";
import { revokeDelegation } from "@countersign/engine/commits/revoke-delegation.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { v7 as newId } from "uuid";
import type { Queryable } from "@countersign/db/connect.ts";
import { type Actor, hasRole, requireRole, wayOf } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { once } from "../idempotency.ts";
import { notAnApprover } from "../not-an-approver.ts";
import { isWithinRole, noApproval } from "../prepare-decision.ts";
import { invalidField, Problem } from "../problem.ts";
import { listDelegations, readDelegation } from "../queries/delegations.ts";
import { readUser } from "../queries/people.ts";
import { answers, idempotencyParameter, idParam, jsonBody, pageQuery } from "../shapes/common.ts";
import { type Delegation, delegationListSchema, delegationSchema, newDelegationSchema } from "../shapes/delegations.ts";

const list = createRoute({
  method: "get",
  path: "/delegations",
  summary: "Who decides on whose say: what you gave or were given, for an administrator everybody's",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of delegations", delegationListSchema),
});

const create = createRoute({
  method: "post",
  path: "/delegations",
  summary: "Let somebody decide on your say until a moment, where the definitions allow it",
  parameters: [idempotencyParameter],
  request: { body: jsonBody(newDelegationSchema) },
  responses: answers("The delegation", delegationSchema),
});

const revoke = createRoute({
  method: "delete",
  path: "/delegations/{id}",
  summary: "Take a say back; what was decided on it and has not begun is asked again",
  request: { params: idParam },
  responses: answers("The delegation is over", delegationSchema),
});

/** Delegations: a say that is handed to somebody else for a time. */
export function createDelegationRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const { cursor, limit } = c.req.valid("query");
      const userId = hasRole(actor, "admin") ? undefined : actor.userId;
      const name = `delegations.${userId ?? "all"}`;
      const { workspaceId } = actor;
      const read = await listDelegations(sql, { workspaceId, userId, cursorId: decodeCursor(name, cursor), limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ delegations: rows, nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      const made = await once(c, deps, (work) => handOver(work.sql, actor, c.req.valid("json")));
      return c.json(made, 200);
    })
    .openapi(revoke, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const { workspaceId, userId } = actor;
      if (actor.via !== undefined) {
        const { from, to } = await findDelegation(sql, workspaceId, id);
        if (userId !== from.id && userId !== to.id) requireRole(actor, "admin", "Taking back what is others'");
      }
      const outcome = await revokeDelegation(sql, { delegationId: id, workspaceId, userId, way: wayOf(actor) });
      if (outcome === "not_found") throw noDelegation(id);
      if (outcome === "forbidden") {
        throw new Problem(
          "forbidden",
          `A say is taken back by who gave it, who was given it, or an administrator; you are ${actor.name}, ${actor.role}.`,
        );
      }
      return c.json(await findDelegation(sql, workspaceId, id), 200);
    });
}

async function handOver(sql: Queryable, actor: Actor, asked: z.infer<typeof newDelegationSchema>): Promise<Delegation> {
  const { workspaceId, userId } = actor;
  if (!actor.mayDecide) {
    throw new Problem(
      "may_not_decide",
      `This token of ${(actor.via ?? actor).name} was made without the right to decide, so it hands none over either.`,
    );
  }
  const { to, approvalId } = asked;
  if (actor.via !== undefined && !(await mayHandOver(sql, actor, approvalId))) throw await notAnApprover(sql, actor);
  const id = newId();
  const until = new Date(asked.until);
  const outcome = await delegateSay(sql, {
    delegationId: id,
    workspaceId,
    fromUser: userId,
    toUser: to,
    approvalId,
    until,
    way: wayOf(actor),
  });
  switch (outcome) {
    case "delegated":
      return await findDelegation(sql, workspaceId, id);
    case "unknown_person":
      throw new Problem("not_found", `There is no person ${to} in this workspace who could decide.`);
    case "to_oneself":
      throw invalidField("json.to", "is yourself; name somebody else");
    case "over_already":
      throw invalidField("json.until", "has passed; name a later moment");
    case "forbidden":
      throw await notAnApprover(sql, actor);
    case "not_found":
      throw noApproval(approvalId ?? "");
    case "not_delegable":
      throw new Problem(
        "forbidden",
        "The definition does not let its approvers hand their say over: whoever it names decides. An administrator can change that with a new version (approvers.delegation).",
      );
    case "settled":
      throw new Problem("already_closed", `The approval ${approvalId ?? ""} waits for nobody any more.`);
  }
}

/** A service hands over no more than it has itself: of an approval where it may decide that, else a say of its own role. */
async function mayHandOver(sql: Queryable, actor: Actor, approvalId: string | undefined): Promise<boolean> {
  if (approvalId !== undefined) return await isWithinRole(sql, actor, approvalId);
  const person = await readUser(sql, actor.workspaceId, actor.userId);
  return hasRole(actor, "approver") && person?.role === actor.role;
}

async function findDelegation(sql: Queryable, workspaceId: string, id: string): Promise<Delegation> {
  const found = await readDelegation(sql, workspaceId, id);
  if (found === undefined) throw noDelegation(id);
  return found;
}

function noDelegation(id: string): Problem {
  return new Problem("not_found", `There is no delegation ${id} in this workspace. GET /v1/delegations lists them.`);
}
