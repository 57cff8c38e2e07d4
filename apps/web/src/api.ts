import type { App } from "@countersign/server/app.ts";
import { hc, type InferResponseType } from "hono/client";
import { sendOnce, settle } from "./send-once.ts";
import { learnTime } from "./server-clock.ts";
import { loadAnew, whoseHeaders } from "./whose.ts";

/**
 * The server, typed. Requests carry the browser's session in its cookie, which no script can read, and say whose page they
 * are from. Whatever makes or decides something may be sent again after a lost answer, and is done once.
 */
export const api = hc<App>(location.origin, { headers: whoseHeaders, fetch: sendOnce }).v1;

export const signInRequest = hc<App>(location.origin).session;

/** A refusal as the server sends it. */
export interface ProblemBody {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly status: number;
  readonly requestId: string;
  readonly retryAfterSeconds?: number;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly settlement?: {
    readonly status: string;
    readonly answer: string | null;
    readonly by: string | null;
    readonly at: string | null;
    readonly reason: string | null;
  };
}

/** The server refused: `problem` says why. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly problem: ProblemBody;

  constructor(problem: ProblemBody) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Nobody answered, or with something that is not the server's: it is not known whether the request took effect. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

export type Answer<T> = Exclude<T, ProblemBody | { code: string; detail: string; requestId: string }>;
type BodyOf<R extends Pick<Response, "json">> = Awaited<ReturnType<R["json"]>>;

/** The body of a successful answer. Throws Refused with the server's reason, NoAnswer where there is none. */
export async function ask<R extends Pick<Response, "headers" | "json" | "ok" | "status">>(
  request: Promise<R>,
): Promise<Answer<BodyOf<R>>> {
  const response = await request.catch((error: unknown) => {
    throw new NoAnswer("The server does not answer.", { cause: error });
  });
  learnTime(response.headers.get("date"));
  const answered = `The server answered ${response.status} with something that is not its own.`;
  const body = (await response.json().catch((error: unknown) => {
    throw new NoAnswer(answered, { cause: error });
  })) as BodyOf<R>;
  if (response.ok) {
    settle(response);
    return body as Answer<BodyOf<R>>;
  }
  const problem = body as Partial<ProblemBody>;
  if (typeof problem.code !== "string") throw new NoAnswer(answered);
  // What failed on the way, or is still worked on, may yet be done.
  if (response.status < 500 && problem.code !== "in_flight") settle(response);
  if (problem.code === "another_account") loadAnew();
  throw new Refused(problem as ProblemBody);
}

type Api = typeof api;

export type Task = Answer<InferResponseType<Api["tasks"][":id"]["$get"]>>;
export type Approval = NonNullable<Task["approval"]>;
export type Question = NonNullable<Task["question"]>;
export type Run = Answer<InferResponseType<Api["runs"]["$get"]>>["runs"][number];
export type KillSwitch = Answer<InferResponseType<Api["kill"]["$get"]>>["switches"][number];
export type RunTree = Answer<InferResponseType<Api["runs"][":id"]["tree"]["$get"]>>;
export type Call = RunTree["entries"][number]["calls"][number];
