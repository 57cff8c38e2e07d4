import { type Role, roles } from "./auth.ts";
import type { ProblemCode } from "./problem.ts";

/** Who may use a route, on what. The page docs/access.md is made of this table, and a test tries every cell. */
export interface Access {
  /** Method and path, as the API describes them. */
  readonly route: string;
  /** What the request is about, where a route treats several things differently. */
  readonly on?: string;
  /** The least role; `nobody` where no token is needed. */
  readonly least: Role | "nobody";
  /** An object of the workspace is named. `owned`: only its owner and administrators may. */
  readonly object?: "shared" | "owned";
  /** The token must carry the right to decide, too. */
  readonly decides?: true;
  /** Whoever lacks the role is not told whether the object exists. */
  readonly hides?: true;
  /** Refused to programs, whatever their role. */
  readonly people?: true;
}

export const access: readonly Access[] = [
  { route: "GET /health/live", least: "nobody" },
  { route: "GET /health/ready", least: "nobody" },
  { route: "GET /metrics", on: "from the server's machine", least: "nobody" },

  { route: "GET /session", least: "nobody" },
  { route: "POST /session", least: "nobody" },
  { route: "POST /v1/login-links", least: "viewer", object: "owned", people: true },

  { route: "POST /v1/runs", least: "operator" },
  { route: "POST /v1/runs", on: "with a dial of its own", least: "approver", decides: true },
  { route: "POST /v1/runs", on: "with a preset", least: "approver", decides: true },
  { route: "GET /v1/runs", least: "viewer" },
  { route: "GET /v1/runs/{id}", least: "viewer", object: "shared" },
  { route: "GET /v1/runs/{id}/tree", least: "viewer", object: "shared" },
  { route: "GET /v1/runs/{id}/log", least: "viewer", object: "shared" },
  { route: "GET /v1/runs/{id}/calls/{callId}/result", least: "viewer", object: "shared" },
  { route: "GET /v1/runs/{id}/saying", least: "viewer", object: "shared" },
  { route: "GET /v1/runs/{id}/events", least: "viewer", object: "shared" },
  { route: "POST /v1/runs/{id}/steer", least: "operator", object: "owned" },
  { route: "POST /v1/runs/{id}/cancel", least: "operator", object: "owned" },
  { route: "POST /v1/runs/{id}/resume", least: "operator", object: "owned" },
  { route: "GET /v1/runs/{id}/grants", least: "viewer", object: "shared" },
  { route: "POST /v1/runs/{id}/grants/{capability}/revoke", least: "admin", object: "shared" },

  { route: "GET /v1/approvals", least: "viewer" },
  { route: "GET /v1/approvals/attention", least: "viewer" },
  { route: "GET /v1/approvals/{id}", least: "viewer", object: "shared" },
  { route: "POST /v1/approvals/{id}/decision", least: "approver", object: "shared", decides: true },

  { route: "POST /v1/approvals/decisions", least: "approver", object: "shared", decides: true },
  { route: "POST /v1/approvals/{id}/extension", least: "approver", object: "shared", decides: true },
  { route: "GET /v1/approvals/{id}/receipt", least: "approver", object: "shared" },
  { route: "GET /v1/delegations", least: "viewer" },
  { route: "POST /v1/delegations", least: "approver", decides: true },
  { route: "DELETE /v1/delegations/{id}", least: "viewer", object: "owned" },

  { route: "GET /v1/tasks", least: "viewer" },
  { route: "POST /v1/tasks", least: "operator" },
  { route: "GET /v1/tasks/{id}", least: "viewer", object: "shared" },
  { route: "POST /v1/tasks/{id}/confirm", least: "approver", object: "shared", decides: true },
  { route: "POST /v1/tasks/{id}/dismiss", on: "an approval", least: "approver", object: "shared", decides: true },
  { route: "POST /v1/tasks/{id}/dismiss", on: "a question", least: "operator", object: "shared" },
  { route: "POST /v1/tasks/{id}/dismiss", on: "a task", least: "operator", object: "shared" },
  { route: "POST /v1/tasks/{id}/answer", least: "operator", object: "shared" },
  { route: "POST /v1/tasks/{id}/done", least: "operator", object: "shared" },

  { route: "GET /v1/tasks/sections", least: "viewer" },
  { route: "GET /v1/tasks/done-log", least: "viewer" },

  { route: "PUT /v1/uploads/{hash}", least: "operator" },
  { route: "GET /v1/files", least: "viewer" },
  { route: "GET /v1/files/{id}", least: "viewer", object: "shared" },
  { route: "GET /v1/files/{id}/content", least: "viewer", object: "shared" },
  { route: "DELETE /v1/files/{id}", least: "operator", object: "owned" },
  { route: "GET /v1/file-space", least: "viewer" },
  { route: "PUT /v1/file-space", least: "admin" },
  { route: "GET /v1/memory", least: "viewer" },
  { route: "POST /v1/memory/consolidate", least: "operator" },
  { route: "POST /v1/memory/{id}/accept", least: "operator", object: "shared", decides: true },
  { route: "POST /v1/memory/{id}/dismiss", least: "operator", object: "shared", decides: true },
  { route: "GET /v1/captures", least: "viewer" },
  { route: "POST /v1/captures", least: "operator" },
  { route: "GET /v1/captures/{id}", least: "viewer", object: "shared" },
  { route: "GET /v1/reminders", least: "viewer" },
  { route: "POST /v1/reminders", least: "operator" },
  { route: "POST /v1/reminders/{id}/cancel", least: "operator", object: "shared" },
  { route: "GET /v1/calendar", least: "viewer" },
  { route: "PUT /v1/calendar", least: "operator" },
  { route: "DELETE /v1/calendar", least: "operator", object: "shared", hides: true },
  { route: "PUT /v1/calendar/{uid}", least: "operator" },
  { route: "DELETE /v1/calendar/{uid}", least: "operator", object: "shared", hides: true },

  { route: "GET /v1/pages", least: "viewer" },
  { route: "POST /v1/pages", least: "operator" },
  { route: "GET /v1/pages/{id}", least: "viewer", object: "shared" },
  { route: "PUT /v1/pages/{id}", least: "operator", object: "shared", hides: true },
  { route: "PATCH /v1/pages/{id}", least: "operator", object: "shared", hides: true },
  { route: "DELETE /v1/pages/{id}", least: "operator", object: "shared", hides: true },
  { route: "GET /v1/nodes/{id}", least: "viewer", object: "shared" },
  { route: "PUT /v1/nodes/{id}", least: "operator", object: "shared", hides: true },
  { route: "DELETE /v1/nodes/{id}", least: "operator", object: "shared", hides: true },
  { route: "GET /v1/search", least: "viewer" },
  { route: "GET /v1/grep", least: "viewer" },
  { route: "GET /v1/directories", least: "viewer" },
  { route: "GET /v1/commands", least: "viewer" },
  { route: "GET /v1/commands/{id}", least: "viewer", object: "shared" },
  { route: "POST /v1/commands/{id}/undo", least: "operator", object: "shared", hides: true },
  { route: "POST /v1/import", least: "operator" },
  { route: "GET /v1/export", least: "viewer" },
  { route: "GET /v1/access-rules", least: "admin" },
  { route: "PUT /v1/access-rules", on: "a directory", least: "admin" },
  { route: "PUT /v1/access-rules", on: "a page", least: "admin", object: "shared", hides: true },
  { route: "DELETE /v1/access-rules/{id}", least: "admin", object: "shared", hides: true },

  { route: "GET /v1/kill", least: "viewer" },
  { route: "POST /v1/kill", on: "the workspace", least: "admin" },
  { route: "POST /v1/kill", on: "a run", least: "admin", object: "shared", hides: true },
  { route: "POST /v1/kill", on: "a definition", least: "admin", object: "shared", hides: true },
  { route: "POST /v1/lift", on: "the workspace", least: "admin" },
  { route: "POST /v1/lift", on: "a run", least: "admin", object: "shared", hides: true },
  { route: "POST /v1/kill", on: "a tool", least: "admin" },
  { route: "POST /v1/lift", on: "a tool", least: "admin" },

  { route: "GET /v1/rules", on: "the workspace", least: "viewer" },
  { route: "GET /v1/rules", on: "a run", least: "viewer", object: "shared" },
  { route: "PATCH /v1/rules", on: "the workspace", least: "admin", decides: true },
  { route: "PATCH /v1/rules", on: "the workspace, what would change", least: "viewer" },
  { route: "PATCH /v1/rules", on: "a definition", least: "approver", object: "shared", decides: true },
  { route: "PATCH /v1/rules", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "PUT /v1/rules", on: "the workspace", least: "admin", decides: true },
  { route: "PUT /v1/rules", on: "the workspace, what would change", least: "viewer" },
  { route: "PUT /v1/rules", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "POST /v1/rules/revoke", on: "the workspace", least: "admin", decides: true },
  { route: "POST /v1/rules/revoke", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "DELETE /v1/rules/{id}", on: "the workspace", least: "admin", object: "shared", decides: true },
  { route: "DELETE /v1/rules/{id}", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "GET /v1/runs/{id}/tools", least: "viewer", object: "shared" },
  { route: "PATCH /v1/runs/{id}/tools", least: "approver", object: "shared", decides: true },
  { route: "GET /v1/policy/tools", least: "viewer" },
  { route: "PATCH /v1/policy/tools", on: "the workspace", least: "admin", decides: true },
  { route: "PATCH /v1/policy/tools", on: "a definition", least: "approver", object: "shared", decides: true },
  { route: "PATCH /v1/policy/dial", on: "the workspace", least: "admin", decides: true },
  { route: "PATCH /v1/policy/dial", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "PUT /v1/policy/preset", on: "the workspace", least: "admin", decides: true },
  { route: "PUT /v1/policy/preset", on: "a definition", least: "approver", object: "shared", decides: true },
  { route: "PUT /v1/policy/preset", on: "a run", least: "approver", object: "shared", decides: true },
  { route: "POST /v1/explain", least: "viewer" },
  { route: "POST /v1/explain", on: "a run", least: "viewer", object: "shared" },
  { route: "POST /v1/simulate", least: "viewer" },
  { route: "GET /v1/suggestions", on: "the workspace", least: "viewer" },
  { route: "GET /v1/suggestions", on: "a run", least: "viewer", object: "shared" },

  { route: "GET /v1/definitions", least: "viewer" },
  { route: "POST /v1/definitions", least: "admin" },
  { route: "GET /v1/definitions/{id}", least: "viewer", object: "shared" },
  { route: "GET /v1/definitions/{id}/versions", least: "viewer", object: "shared" },
  { route: "POST /v1/definitions/{id}/versions", least: "admin", object: "shared" },
  { route: "GET /v1/tools", least: "viewer" },
  { route: "GET /v1/tools/{name}", least: "viewer" },

  { route: "GET /v1/secrets", least: "admin" },
  { route: "PUT /v1/secrets/{name}", least: "admin" },
  { route: "DELETE /v1/secrets/{name}", least: "admin", object: "shared", hides: true },
  { route: "GET /v1/audit", least: "admin" },
  { route: "GET /v1/audit/export", least: "admin" },
  { route: "GET /v1/audit/checks", least: "admin" },
  { route: "POST /v1/audit/checks", least: "admin" },

  { route: "GET /v1/events", least: "viewer" },
  { route: "GET /v1/webhooks", least: "admin" },
  { route: "POST /v1/webhooks", least: "admin" },
  { route: "DELETE /v1/webhooks/{id}", least: "admin", object: "shared", hides: true },
  { route: "GET /v1/webhooks/{id}/deliveries", least: "admin", object: "shared", hides: true },
  { route: "POST /v1/webhooks/deliveries/{id}/redeliver", least: "admin", object: "shared", hides: true },

  { route: "GET /v1/me", least: "viewer" },
  { route: "GET /v1/workspaces", least: "viewer" },
  { route: "GET /v1/people", least: "viewer" },
  { route: "GET /v1/users", least: "admin" },
  { route: "POST /v1/users", least: "admin" },
  { route: "GET /v1/users/{id}", least: "viewer", object: "owned" },
  { route: "PATCH /v1/users/{id}", least: "admin", object: "shared" },
  { route: "GET /v1/tokens", on: "one account's", least: "viewer", object: "owned" },
  { route: "POST /v1/tokens", on: "a token that may not decide", least: "admin" },
  { route: "POST /v1/tokens", on: "a token that may decide", least: "admin", decides: true },
  { route: "DELETE /v1/tokens/{id}", least: "viewer", object: "owned" },
];

/** Who asks: a person of a role, a program with the role admin whose token may not decide, or somebody without a token. */
export const askers = [...roles, "service", "nobody"] as const;

export type Asker = (typeof askers)[number];

/** Whose the object is, where a route names one. */
export type Whose = "own" | "another's" | "other workspace's";

/** What is answered: `allowed`, or the code of the refusal. */
export function answerTo(entry: Access, asker: Asker, whose: Whose): "allowed" | ProblemCode {
  const { least, object, decides, hides, people } = entry;
  if (least === "nobody") return "allowed";
  if (asker === "nobody") return "unauthenticated";
  if (people === true && asker === "service") return "forbidden";
  const role = asker === "service" ? "admin" : asker;
  const isForeign = object !== undefined && whose === "other workspace's";
  if (isForeign && hides !== true) return "not_found";
  if (roles.indexOf(role) < roles.indexOf(least))
    return decides === true && least === "approver" ? "not_an_approver" : "forbidden";
  if (decides === true && asker === "service") return "may_not_decide";
  if (isForeign) return "not_found";
  return object === "owned" && whose === "another's" && role !== "admin" ? "forbidden" : "allowed";
}
