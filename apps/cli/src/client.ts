import type { App } from "@countersign/server/app.ts";
import { hc, type InferResponseType } from "hono/client";
import { CliError, type ExitName } from "./exit.ts";
import { inOwnWords } from "./own-words.ts";
import { makeVisible } from "./terminal/visible.ts";

export type Client = ReturnType<typeof createClient>;

/** A refusal as the server sends it. */
interface ProblemBody {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
}

type Answer<T> = Exclude<T, ProblemBody>;
type BodyOf<R extends Pick<Response, "json">> = Awaited<ReturnType<R["json"]>>;
type V1 = Client["v1"];

export type Run = Answer<InferResponseType<V1["runs"][":id"]["$get"]>>;
export type RunTree = Answer<InferResponseType<V1["runs"][":id"]["tree"]["$get"]>>;
export type LogPart = Answer<InferResponseType<V1["runs"][":id"]["log"]["$get"]>>;
export type LogLine = LogPart["lines"][number];
export type Call = RunTree["entries"][number]["calls"][number];
export type ListedRun = Answer<InferResponseType<V1["runs"]["$get"]>>["runs"][number];
export type Task = Answer<InferResponseType<V1["tasks"][":id"]["$get"]>>;
export type Approval = NonNullable<Task["approval"]>;
export type Question = NonNullable<Task["question"]>;
export type KillSwitch = Answer<InferResponseType<V1["kill"]["$get"]>>["switches"][number];
export type HeldBy = NonNullable<Run["heldBy"]>;
export type TaskStatus = Task["status"];
export type RunStatus = Run["status"];

/** The server as a typed client; what fails on the way is thrown by `ask`. */
export function createClient(url: string, token: string) {
  return hc<App>(url, { headers: { authorization: `Bearer ${token}` } });
}

/**
 * The body of a successful answer. Throws CliError: the server's refusal with the exit code that it stands for, or that
 * nobody answers. `signal` is the one the request was sent with: its abort is passed on as it is.
 */
export async function ask<R extends Pick<Response, "json" | "ok" | "status">>(
  request: Promise<R>,
  signal?: AbortSignal,
): Promise<Answer<BodyOf<R>>> {
  const response = await request.catch((error: unknown) => {
    signal?.throwIfAborted();
    throw noAnswer(error);
  });
  let body: unknown;
  try {
    body = await response.json();
  } catch (error) {
    signal?.throwIfAborted();
    throw new CliError("error", `The server answered ${response.status} with something that is not JSON.`, { error });
  }
  if (!response.ok) throw refusalOf(response.status, body);
  if (!isObject(body)) {
    throw new CliError(
      "error",
      `The server answered ${response.status} with something that is no answer of Countersign.`,
    );
  }
  return body as Answer<BodyOf<R>>;
}

/** True where the server could not be reached, so that the same may be tried again. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof CliError && "unreachable" in error.details;
}

const exitsOfStatus: Readonly<Record<number, ExitName>> = {
  400: "usage",
  401: "denied",
  403: "denied",
  408: "timeout",
  409: "conflict",
  410: "conflict",
  412: "conflict",
  413: "usage",
  422: "usage",
  423: "conflict",
  428: "conflict",
};

const mostErrors = 20;

/** What is wrong besides the first place, which the refusal's own words tell; a line for each. */
function furtherErrors(errors: unknown): string[] {
  const all = Array.isArray(errors) ? errors.filter(isObject) : [];
  const left = all.length - mostErrors;
  return [
    ...all
      .slice(1, mostErrors)
      .map(
        ({ path, line, message }) =>
          `  ${line === undefined ? "" : `line ${JSON.stringify(line)}, `}${String(path)}: ${String(message)}`,
      ),
    ...(left > 0 ? [`  and ${left} more`] : []),
  ].map(makeVisible);
}

/** What a refusal of the server's stands for; of a body that is no problem, only the status. */
export function refusalOf(status: number, body: unknown): CliError {
  const problem = isObject(body) ? body : {};
  const { detail, errors } = problem;
  const message = typeof detail === "string" && detail !== "" ? inOwnWords(detail) : `The server answered ${status}.`;
  const details = status === 503 ? { ...problem, unreachable: true } : problem;
  return new CliError(exitsOfStatus[status] ?? "error", [message, ...furtherErrors(errors)].join("\n"), details);
}

function isObject(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

/** That the server cannot be reached. */
export function noAnswer(error: unknown): CliError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? ("code" in cause ? String(cause.code) : cause.message) : String(cause);
  return new CliError(
    "error",
    `The server does not answer (${why}). Start it with ./countersign dev, or set COUNTERSIGN_URL and COUNTERSIGN_TOKEN to one that runs.`,
    { unreachable: true },
  );
}
