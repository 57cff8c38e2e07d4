import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, hasRole, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { noRun, Problem } from "../problem.ts";
import { readTogether } from "../queries/read-together.ts";
import { followLog } from "../queries/run-log.ts";
import { readRunTree } from "../queries/run-tree.ts";
import { readRun, readRuns } from "../queries/runs.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery, storableText } from "../shapes/common.ts";
import {
  logPartSchema,
  type RunDetail,
  runDetailSchema,
  runListSchema,
  runStatus,
  runTreeSchema,
} from "../shapes/runs.ts";
import { newRunSchema, start } from "../start.ts";
import { steer } from "../steer.ts";
import { shownTo } from "./approvals.ts";

const startRoute = createRoute({
  method: "post",
  path: "/runs",
  summary: "Start a run; with an idempotency key only once",
  request: { headers: idempotencyHeaders, body: jsonBody(newRunSchema) },
  responses: answers("The run, new or the one the key started before", runDetailSchema),
});

const list = createRoute({
  method: "get",
  path: "/runs",
  summary: "The runs of the workspace, newest first",
  request: { query: z.object({ status: runStatus.optional(), ...pageQuery }) },
  responses: answers("A page of runs", runListSchema),
});

const get = createRoute({
  method: "get",
  path: "/runs/{id}",
  summary: "One run",
  request: { params: idParam },
  responses: answers("The run", runDetailSchema),
});

const tree = createRoute({
  method: "get",
  path: "/runs/{id}/tree",
  summary: "All of a run: turns, calls, what they wait for, and the lines of each",
  request: { params: idParam },
  responses: answers("The run's tree", runTreeSchema),
});

const log = createRoute({
  method: "get",
  path: "/runs/{id}/log",
  summary: "The lines of a run after one of them; waits for the next where asked to",
  request: {
    params: idParam,
    query: z.object({
      after: z.coerce.number().int().min(0).max(2_000_000_000).default(0),
      limit: z.coerce.number().int().min(1).max(1_000).default(200),
      wait: z.coerce.number().min(0).max(30).default(0).openapi({ description: "In seconds" }),
    }),
  },
  responses: answers("Lines, perhaps none", logPartSchema),
});

const steerRoute = createRoute({
  method: "post",
  path: "/runs/{id}/steer",
  summary: "Say something to a live run; it reads it before its next turn",
  request: {
    params: idParam,
    headers: idempotencyHeaders,
    body: jsonBody(z.strictObject({ message: z.string().min(1).max(100_000) })),
  },
  responses: answers(
    "The message is in the run's inbox",
    z.object({ kind: z.literal("queued"), n: z.int(), isRepeat: z.boolean() }),
  ),
});

const cancel = createRoute({
  method: "post",
  path: "/runs/{id}/cancel",
  summary: "Cancel a run and all it started",
  request: {
    params: idParam,
    body: {
      ...jsonBody(z.strictObject({ reason: storableText(500).optional() })),
      required: false,
    },
  },
  responses: answers("The run is canceled", runDetailSchema),
});

/** Runs: start, read, follow, steer, cancel. */
export function createRunRoutes(deps: ServerDependencies) {
  const { sql, commit, closing } = deps;

  async function findRun(actor: Actor, id: string): Promise<RunDetail> {
    const run = await readRun(sql, actor.workspaceId, id);
    if (run === undefined) throw noRun(id);
    return run;
  }

  async function findOwnRun(actor: Actor, id: string, act: string): Promise<RunDetail> {
    const run = await findRun(actor, id);
    requireRole(actor, "operator", act);
    if (run.startedBy.id === actor.userId || hasRole(actor, "admin")) return run;
    throw new Problem(
      "forbidden",
      `${act} is for ${run.startedBy.name}, who started it, and for administrators; you are ${actor.name}, ${actor.role}.`,
    );
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(startRoute, async (c) => {
      const actor = c.get("actor");
      const started = await start(deps, actor, c.req.valid("json"), c.req.valid("header")["idempotency-key"]);
      if (started.isRepeat) c.header("Idempotency-Replayed", "true");
      return c.json(await findRun(actor, started.runId), 200);
    })
    .openapi(list, async (c) => {
      const { status, cursor, limit } = c.req.valid("query");
      const { workspaceId } = c.get("actor");
      const name = `runs.${status ?? "all"}`;
      const cursorId = decodeCursor(name, cursor);
      const read = await readRuns(sql, { workspaceId, status, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ runs: rows, nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      return c.json(await findRun(c.get("actor"), c.req.valid("param").id), 200);
    })
    .openapi(tree, async (c) => {
      const { id } = c.req.valid("param");
      const actor = c.get("actor");
      const read = await readTogether(sql, (tx) => readRunTree(tx, actor.workspaceId, id));
      if (read === undefined) throw noRun(id);
      for (const entry of read.entries) {
        for (const call of entry.calls) {
          call.approvals = call.approvals.map((approval) => shownTo(actor, approval));
        }
      }
      return c.json(read, 200);
    })
    .openapi(log, async (c) => {
      const { id } = c.req.valid("param");
      const { after, limit, wait } = c.req.valid("query");
      const part = await followLog(
        sql,
        {
          workspaceId: c.get("actor").workspaceId,
          runId: id,
          after,
          limit,
          waitMs: wait * 1000,
        },
        AbortSignal.any([c.req.raw.signal, closing]),
      );
      if (part === undefined) throw noRun(id);
      return c.json(part, 200);
    })
    .openapi(steerRoute, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      await findOwnRun(actor, id, "Steering this run");
      const steered = await steer(deps, actor, {
        runId: id,
        message: c.req.valid("json").message,
        key: c.req.valid("header")["idempotency-key"],
      });
      if (steered.isRepeat) c.header("Idempotency-Replayed", "true");
      return c.json({ kind: "queued" as const, ...steered }, 200);
    })
    .openapi(cancel, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const run = await findOwnRun(actor, id, "Canceling this run");
      const outcome = await commit(cancelRun, {
        runId: id,
        workspaceId: actor.workspaceId,
        userId: actor.userId,
        reason: c.req.valid("json").reason ?? `canceled by ${actor.name}`,
      });
      switch (outcome.kind) {
        case "canceled":
          return c.json(await findRun(actor, id), 200);
        case "not_found":
          throw noRun(id);
        default:
          throw new Problem("run_ended", `The run ${run.title} had ${outcome.kind} before; nothing is left to cancel.`);
      }
    });
}
