import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { requireOpenRun } from "../closed-runs.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { type Attention, payAttention } from "../events/attention.ts";
import { eventStreamHeaders, streamTexts } from "../events/event-stream.ts";
import type { Events } from "../events/events.ts";
import { standingOf } from "../events/read-standings.ts";
import { type RunNews, streamRun } from "../events/run-stream.ts";
import { shareReads } from "../events/share-reads.ts";
import { streamWorkspace } from "../events/workspace-stream.ts";
import { noRun, Problem } from "../problem.ts";
import { readRun } from "../queries/runs.ts";
import { answers, idParam } from "../shapes/common.ts";

/** How many streams may read a part of a log at the same time. */
const readsAtOnce = 6;

const { "4XX": refused, "5XX": failed } = answers("", z.object({}));

function eventStream(description: string) {
  return {
    200: {
      description,
      content: { "text/event-stream": { schema: z.string().openapi({ description: "Server-sent events" }) } },
    },
    "4XX": refused,
    "5XX": failed,
  };
}

const ofRun = createRoute({
  method: "get",
  path: "/runs/{id}/events",
  summary: "A run as it happens: its lines from the one after `Last-Event-ID` on, and how it stands",
  request: {
    params: idParam,
    headers: z.object({
      "last-event-id": z.string().max(100).optional().openapi({ description: "The number of the last line received" }),
    }),
  },
  responses: {
    ...eventStream("Events `line`, `status`, `alive`, `end` and `resync`; see the documentation of streams"),
    204: { description: "The run has ended and all its lines were received: there is no reason to come back" },
  },
});

const ofWorkspace = createRoute({
  method: "get",
  path: "/events",
  summary: "What changes in the workspace, as ids of runs, tasks and scopes to look at again",
  request: {
    headers: z.object({
      "last-event-id": z
        .string()
        .max(25_000)
        .optional()
        .openapi({ description: "Of the last event received; what committed since is told once" }),
    }),
  },
  responses: eventStream("Events `ready`, `changes`, `alive` and `resync`; see the documentation of streams"),
});

/** Streams of events, for whoever may read the workspace. */
export function createEventRoutes({
  sql,
  log,
  closing,
  events,
}: Pick<ServerDependencies, "sql" | "log" | "closing"> & { readonly events: Events }) {
  closing.addEventListener("abort", () => void events.close(), { once: true });
  const { pingMs: everyMs } = events;
  const reads = shareReads<RunNews | undefined>(readsAtOnce);

  function attend(c: Context<AppEnv>, runId: string | undefined): Attention {
    if (closing.aborted) throw new Problem("not_ready", "The server is stopping. Connect again in a moment.");
    const actor = c.get("actor");
    const { workspaceId, tokenId } = actor;
    if (events.isFull(tokenId)) {
      throw new Problem("busy", "This server has as many open streams as it takes. Close some, or try again later.", {
        retryAfterSeconds: 10,
      });
    }
    return payAttention(
      events,
      { workspaceId, tokenId, runId, standing: actor.via === undefined ? standingOf(actor) : undefined },
      () => c.env?.outgoing?.destroy(),
    );
  }

  function stream(c: Context<AppEnv>, attention: Attention, texts: AsyncGenerator<string, void>) {
    if (c.req.method === "HEAD") return c.body("", 200, eventStreamHeaders);
    const requestId = c.get("requestId");
    const onFailure = (error: unknown): void => {
      attention.end();
      log.error({ requestId, err: error }, "a stream failed; its reader comes back by itself");
    };
    return c.body(streamTexts(texts, { leave: attention.end, onFailure }), 200, eventStreamHeaders);
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(ofRun, async (c) => {
      const { workspaceId, userId } = c.get("actor");
      const { id: runId } = c.req.valid("param");
      const after = lineAfter(c.req.valid("header")["last-event-id"]);
      const run = await readRun(sql, workspaceId, runId);
      if (run === undefined) throw noRun(runId);
      await requireOpenRun(sql, { workspaceId, userId }, run);
      if (run.finishedAt !== null && after === run.lastSeq) return c.body(null, 204);
      const attention = attend(c, runId);
      const position = { workspaceId, userId, runId, after, everyMs };
      return stream(c, attention, streamRun({ sql, reads }, position, attention));
    })
    .openapi(ofWorkspace, (c) => {
      const { workspaceId } = c.get("actor");
      const since = c.req.valid("header")["last-event-id"];
      const attention = attend(c, undefined);
      return stream(c, attention, streamWorkspace(sql, { workspaceId, since, everyMs }, attention));
    });
}

/** The line a reader says it has; one that is no number of ours counts as none, so nothing is left out. */
function lineAfter(lastEventId: string | undefined): number {
  return lastEventId !== undefined && /^\d{1,9}$/.test(lastEventId) ? Number(lastEventId) : 0;
}
