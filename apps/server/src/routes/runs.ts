import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { resumeRun } from "@countersign/engine/commits/resume-run.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import { storableText } from "@countersign/gate/storable.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, requireRole, requireSelfOrAdmin } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { closedRun, requireOpenRun, showRun, showRuns } from "../closed-runs.ts";
import { once } from "../idempotency.ts";
import { noRun, Problem } from "../problem.ts";
import { readTogether } from "../queries/read-together.ts";
import { followLog } from "../queries/run-log.ts";
import { readRunTree } from "../queries/run-tree.ts";
import { type FoundRun, readRun, readRuns } from "../queries/runs.ts";
import { readSaying } from "../queries/saying.ts";
import {
  answers,
  idempotencyHeaders,
  idempotencyParameter,
  idParam,
  jsonBody,
  pageQuery,
  uuid,
} from "../shapes/common.ts";
import {
  logPartSchema,
  runDetailSchema,
  runListSchema,
  runStatus,
  runTreeSchema,
  sayingSchema,
} from "../shapes/runs.ts";
import { bringsRules, newRunSchema, start } from "../start.ts";
import { steer } from "../steer.ts";

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

const lineNumber = z.coerce.number().int().min(0).max(2_000_000_000);

const tree = createRoute({
  method: "get",
  path: "/runs/{id}/tree",
  summary: "A part of a run: turns, calls, all they waited for, and the lines of each; from its beginning unless asked",
  request: {
    params: idParam,
    query: z
      .object({
        after: lineNumber.optional().openapi({ description: "From `nextAfter`: what comes after it" }),
        before: lineNumber.optional().openapi({ description: "From `prevBefore`: the last of what comes before it" }),
        around: z
          .union([uuid, lineNumber])
          .optional()
          .openapi({ description: "A call or a line: what is around it, or the latest if there is no such" }),
        limit: z.coerce.number().int().min(1).max(1_000).default(200).openapi({ description: "How many entries" }),
      })
      .refine(({ after, before, around }) => [after, before, around].filter((one) => one !== undefined).length <= 1, {
        message: "give one of after, before and around",
        path: ["after"],
      }),
  },
  responses: answers("The run's tree", runTreeSchema),
});

const saying = createRoute({
  method: "get",
  path: "/runs/{id}/saying",
  summary: "What the model says in the turn that is not recorded yet; the recorded turn takes its place",
  request: { params: idParam },
  responses: answers("As much of it as was said; empty while nothing is", sayingSchema),
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
  responses: answers("The message is in the run's inbox", z.object({ kind: z.literal("queued"), n: z.int() })),
});

const cancel = createRoute({
  method: "post",
  path: "/runs/{id}/cancel",
  summary: "Cancel a run",
  parameters: [idempotencyParameter],
  request: {
    params: idParam,
    body: {
      ...jsonBody(z.strictObject({ reason: storableText(500).optional() })),
      required: false,
    },
  },
  responses: answers("The run is canceled", runDetailSchema),
});

const resume = createRoute({
  method: "post",
  path: "/runs/{id}/resume",
  summary: "Let a run in quarantine go on",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("The run is in no quarantine", runDetailSchema),
});

/** Runs: start, read, follow, steer, cancel, resume. */
export function createRunRoutes(deps: ServerDependencies) {
  const { sql, closing } = deps;

  async function findOwnRun(sql: Queryable, actor: Actor, id: string, act: string): Promise<FoundRun> {
    const run = await findRun(sql, actor, id);
    requireRole(actor, "operator", act);
    requireSelfOrAdmin(actor, run.startedBy.id ?? "", `${run.startedBy.name}, who started it,`, act);
    return run;
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(startRoute, async (c) => {
      const actor = c.get("actor");
      const key = c.req.valid("header")["idempotency-key"];
      const asked = c.req.valid("json");
      const run = await once(
        c,
        deps,
        async ({ sql, commit, read }) => {
          const started = await start({ sql, commit, read, tools: deps.tools }, actor, asked, key);
          if (started.isRepeat) c.header("Idempotency-Replayed", "true");
          return await showRun(sql, actor, await findRun(sql, actor, started.runId));
        },
        { isOneCommit: bringsRules(asked) },
      );
      return c.json(run, 200);
    })
    .openapi(list, async (c) => {
      const { status, cursor, limit } = c.req.valid("query");
      const actor = c.get("actor");
      const { workspaceId } = actor;
      const name = `runs.${status ?? "all"}`;
      const cursorId = decodeCursor(name, cursor);
      const read = await readRuns(sql, { workspaceId, status, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ runs: await showRuns(sql, actor, rows), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const actor = c.get("actor");
      const run = await findRun(sql, actor, c.req.valid("param").id);
      await requireOpenRun(sql, actor, run);
      return c.json(await showRun(sql, actor, run), 200);
    })
    .openapi(tree, async (c) => {
      const { id } = c.req.valid("param");
      const { after = 0, before, around, limit } = c.req.valid("query");
      const actor = c.get("actor");
      const part = before !== undefined ? { before } : around !== undefined ? { around } : { after };
      const read = await readTogether(sql, (tx) => readRunTree(tx, { actor, runId: id, part, limit }));
      if (read === undefined) throw noRun(id);
      if (read === "closed") throw await closedRun(sql, actor);
      return c.json(read, 200);
    })
    .openapi(saying, async (c) => {
      const { id } = c.req.valid("param");
      const said = await readSaying(sql, c.get("actor"), id);
      if (said === undefined) throw noRun(id);
      if (said === "closed") throw await closedRun(sql, c.get("actor"));
      return c.json(said, 200);
    })
    .openapi(log, async (c) => {
      const { id } = c.req.valid("param");
      const { after, limit, wait } = c.req.valid("query");
      const part = await followLog(
        sql,
        {
          workspaceId: c.get("actor").workspaceId,
          userId: c.get("actor").userId,
          runId: id,
          after,
          limit,
          waitMs: wait * 1000,
        },
        AbortSignal.any([c.req.raw.signal, closing]),
      );
      if (part === undefined) throw noRun(id);
      if (part === "closed") throw await closedRun(sql, c.get("actor"));
      return c.json(part, 200);
    })
    .openapi(steerRoute, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const { message } = c.req.valid("json");
      const steered = await once(c, deps, async ({ sql, commit }) => {
        await requireOpenRun(sql, actor, await findOwnRun(sql, actor, id, "Steering this run"));
        return await steer({ commit }, actor, { runId: id, message });
      });
      return c.json({ kind: "queued" as const, ...steered }, 200);
    })
    .openapi(cancel, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const { reason = `canceled by ${actor.name}` } = c.req.valid("json");
      const canceled = await once(c, deps, async ({ sql, commit }) => {
        const run = await findOwnRun(sql, actor, id, "Canceling this run");
        const { workspaceId, userId } = actor;
        const outcome = await commit(cancelRun, { runId: id, workspaceId, userId, reason });
        switch (outcome.kind) {
          case "canceled":
            return await showRun(sql, actor, await findRun(sql, actor, id));
          case "not_found":
            throw noRun(id);
          default:
            throw new Problem(
              "run_ended",
              `The run ${run.title} had ${outcome.kind} before; nothing is left to cancel.`,
            );
        }
      });
      return c.json(canceled, 200);
    })
    .openapi(resume, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const resumed = await once(c, deps, async ({ sql, commit }) => {
        const run = await findOwnRun(sql, actor, id, "Letting this run go on");
        const { workspaceId, userId } = actor;
        const outcome = await commit(resumeRun, { runId: id, workspaceId, userId });
        switch (outcome.kind) {
          case "resumed":
          case "not_quarantined":
            return await showRun(sql, actor, await findRun(sql, actor, id));
          case "not_found":
            throw noRun(id);
          default:
            throw new Problem(
              "run_ended",
              `The run ${run.title} had ended before (${outcome.kind}); nothing of it can go on.`,
            );
        }
      });
      return c.json(resumed, 200);
    });
}

async function findRun(sql: Queryable, actor: Actor, id: string): Promise<FoundRun> {
  const run = await readRun(sql, actor.workspaceId, id);
  if (run === undefined) throw noRun(id);
  return run;
}
