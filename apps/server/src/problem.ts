import { z } from "@hono/zod-openapi";
import type { HeldBy } from "./shapes/switches.ts";

/** Every way a request can be refused: its HTTP status and its title. A client may rely on the codes; none is reused. */
export const problems = {
  malformed_request: { status: 400, title: "Not a request" },
  malformed_json: { status: 400, title: "The body is not JSON" },
  invalid_cursor: { status: 400, title: "The cursor is not one of this list's" },
  path_not_allowed: { status: 400, title: "The path is not in its plain form" },
  unauthenticated: { status: 401, title: "No valid token" },
  request_timeout: { status: 408, title: "The request did not arrive in time" },
  forbidden: { status: 403, title: "Not allowed to you" },
  not_an_approver: { status: 403, title: "Not an approver" },
  may_not_decide: { status: 403, title: "This token may not decide" },
  may_not_act_for: { status: 403, title: "Not allowed to act for this user" },
  cross_site: { status: 403, title: "Sent by another site" },
  host_not_allowed: { status: 403, title: "Unknown host name" },
  sign_in_refused: { status: 403, title: "Not signed in" },
  link_not_valid: { status: 403, title: "The login link is not valid" },
  closed_run: { status: 403, title: "The run is closed to you" },
  not_found: { status: 404, title: "Not found" },
  no_such_route: { status: 404, title: "No such route" },
  in_flight: { status: 409, title: "The same request is still being worked on" },
  another_account: { status: 409, title: "Another account is signed in" },
  name_taken: { status: 409, title: "The name is taken" },
  capability_taken: { status: 409, title: "Another secret serves this capability" },
  last_admin: { status: 409, title: "The last administrator" },
  already_decided: { status: 409, title: "Already decided" },
  already_closed: { status: 409, title: "Already closed" },
  cannot_undo: { status: 409, title: "Cannot be taken back" },
  file_in_use: { status: 409, title: "Something refers to the file" },
  run_ended: { status: 409, title: "The run has ended" },
  expired: { status: 410, title: "Expired" },
  stale: { status: 412, title: "Changed since you saw it" },
  too_large: { status: 413, title: "The body is too large" },
  quota_exceeded: { status: 413, title: "No room for the file" },
  unsupported_media_type: { status: 415, title: "The body is not declared as JSON" },
  content_mismatch: { status: 422, title: "Not the content that was announced" },
  invalid_definition: { status: 422, title: "Not a definition" },
  invalid_policy: { status: 422, title: "Not a policy" },
  unfit_page: { status: 422, title: "Not a page" },
  unfit_pattern: { status: 422, title: "Not a pattern that can be searched" },
  unfit_secret: { status: 422, title: "The secret cannot be stored" },
  invalid_request: { status: 422, title: "The request does not fit" },
  cannot_remember: { status: 422, title: "A rule would not spare this question" },
  edited_refused: { status: 422, title: "The changed call may not run" },
  not_offered: { status: 422, title: "Not one of the options" },
  wrong_answer: { status: 422, title: "Not an answer to this" },
  wrong_kind: { status: 422, title: "Not possible with this kind of task" },
  key_reused: { status: 422, title: "The idempotency key stands for another request" },
  killed: { status: 423, title: "Held by a kill switch" },
  precondition_required: { status: 428, title: "Say what you saw" },
  rate_limited: { status: 429, title: "Too many requests" },
  headers_too_large: { status: 431, title: "The headers are too large" },
  internal: { status: 500, title: "The server failed" },
  busy: { status: 503, title: "Held up by others" },
  cannot_seal: { status: 503, title: "Secrets cannot be sealed now" },
  database_unavailable: { status: 503, title: "The database does not answer" },
  provider_unavailable: { status: 503, title: "The identity provider does not answer" },
  not_ready: { status: 503, title: "Not ready" },
} as const;

export type ProblemCode = keyof typeof problems;

export interface ProblemDetails {
  /** Each wrong place of the request; with its line where the request is a document. */
  readonly errors?: readonly { readonly path: string; readonly line?: number; readonly message: string }[];
  /** When to try again; also sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** For a decision that came too late: how the approval or question stands. */
  readonly settlement?: {
    readonly status: string;
    readonly answer: string | null;
    readonly by: string | null;
    readonly at: Date | null;
    readonly reason: string | null;
  };
  /** Of several that were to be decided together: those that kept the others from it. */
  readonly refusals?: readonly { readonly approvalId: string; readonly code: ProblemCode; readonly detail: string }[];
  /** What refers to a file that was to be deleted; `id` and `name` are null where the asker may not see it. */
  readonly references?: readonly {
    readonly kind: "page" | "capture" | "call";
    readonly id: string | null;
    readonly name: string | null;
  }[];
}

/** The request is refused. `message` is for the person who made it: what was asked, what was found, what to do. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, message: string, details: ProblemDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The request's field at `path`, such as `json.role`, is not acceptable, for the reason that `message` gives. */
export function invalidField(path: string, message: string): Problem {
  return new Problem("invalid_request", `${path}: ${message}`, { errors: [{ path, message }] });
}

/** A kill switch holds the run, or did until a moment ago (null); `meaning` says what becomes of the request. */
export function heldByKill(heldBy: HeldBy | null, meaning: string): Problem {
  if (heldBy === null) return new Problem("killed", "A kill switch held this run a moment ago. Try again.");
  const { scope, by, since, reason } = heldBy;
  return new Problem(
    "killed",
    `A kill switch holds ${heldScopes[scope]} since ${since}. ${by.name} threw it: ${JSON.stringify(reason)}. ${meaning}`,
  );
}

const heldScopes: Readonly<Record<HeldBy["scope"], string>> = {
  app: "the whole installation",
  workspace: "this workspace",
  definition: "all runs of this definition",
  run: "this run",
};

/** The workspace has no such run, or none that the asker may know of. */
export function noRun(id: string): Problem {
  return new Problem("not_found", `There is no run ${id} in this workspace.`);
}

/** The body of a refusal, as RFC 9457 has it. */
export function problemBody(problem: Problem, requestId: string) {
  const { status, title } = problems[problem.code];
  return {
    type: `urn:countersign:problem:${problem.code}`,
    title,
    status,
    code: problem.code,
    detail: problem.message,
    requestId,
    ...problem.details,
  };
}

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]),
    detail: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ path: z.string(), line: z.int().optional(), message: z.string() })).optional(),
    retryAfterSeconds: z.int().optional(),
    settlement: z
      .object({
        status: z.string(),
        answer: z.string().nullable(),
        by: z.string().nullable(),
        at: z.iso.datetime().nullable(),
        reason: z.string().nullable(),
      })
      .optional(),
    refusals: z.array(z.object({ approvalId: z.string(), code: z.string(), detail: z.string() })).optional(),
    references: z
      .array(z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }))
      .optional(),
  })
  .openapi("Problem");
