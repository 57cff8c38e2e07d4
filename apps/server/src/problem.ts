import { z } from "@hono/zod-openapi";

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
  not_found: { status: 404, title: "Not found" },
  no_such_route: { status: 404, title: "No such route" },
  in_flight: { status: 409, title: "The same request is still being worked on" },
  name_taken: { status: 409, title: "The name is taken" },
  capability_taken: { status: 409, title: "Another secret serves this capability" },
  last_admin: { status: 409, title: "The last administrator" },
  already_decided: { status: 409, title: "Already decided" },
  already_closed: { status: 409, title: "Already closed" },
  run_ended: { status: 409, title: "The run has ended" },
  expired: { status: 410, title: "Expired" },
  stale: { status: 412, title: "Changed since you saw it" },
  too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "The body is not declared as JSON" },
  invalid_definition: { status: 422, title: "Not a definition" },
  unfit_secret: { status: 422, title: "The secret cannot be stored" },
  invalid_request: { status: 422, title: "The request does not fit" },
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
  not_ready: { status: 503, title: "Not ready" },
} as const;

export type ProblemCode = keyof typeof problems;

export interface ProblemDetails {
  /** Each wrong place of the request. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
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
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
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
  })
  .openapi("Problem");
