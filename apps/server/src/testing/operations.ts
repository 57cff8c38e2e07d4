import { send, type TestServer } from "./harness.ts";
import type { Schema, Schemas } from "./unholdable-requests.ts";

/** A route as the API describes it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly hasBody: boolean;
  /** What its body may be, where that is JSON. */
  readonly body: Schema | undefined;
  /** What may be asked for in the query, and whether it is a moment. */
  readonly query: readonly { readonly name: string; readonly isMoment: boolean }[];
}

interface Described {
  readonly requestBody?: {
    readonly content?: { readonly "application/json"?: { readonly schema?: Schema } };
  };
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema?: { readonly format?: string };
  }[];
}

/** Every route of the server's own description. */
export async function listOperations(server: Pick<TestServer, "url">): Promise<Operation[]> {
  const { body } = await send(server, undefined, "GET", "/openapi.json");
  const paths = body["paths"] as Record<string, Record<string, Described>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, parameters = [] }]) => ({
      method: method.toUpperCase(),
      path,
      hasBody: requestBody !== undefined,
      body: requestBody?.content?.["application/json"]?.schema,
      query: parameters
        .filter((parameter) => parameter.in === "query")
        .map(({ name, schema }) => ({ name, isMoment: schema?.format === "date-time" })),
    })),
  );
}

/** The parts of bodies that routes share, by name. */
export async function listSchemas(server: Pick<TestServer, "url">): Promise<Schemas> {
  const { body } = await send(server, undefined, "GET", "/openapi.json");
  return (body["components"] as { schemas: Schemas }).schemas;
}

/** The path of a request: with this id, and a capability and a name that could be, and what its query has to say. */
export function fillPath(path: string, id: string): string {
  return path
    .replace("{id}", id)
    .replace("{callId}", id)
    .replace("{capability}", "mail.send")
    .replace("{hash}", "0".repeat(64))
    .replace("{uid}", "event@example.org")
    .replace(/\/calendar$/, "/calendar?uid=event@example.org")
    .replace("{name}", path.startsWith("/v1/tools") ? "mail.send" : "smtp");
}

/** A body that the route takes, so that what is refused is not the body. */
export function goodBody({ method, path, hasBody }: Operation, id: string): object | undefined {
  return hasBody ? (bodies(id)[`${method} ${path}`] ?? {}) : undefined;
}

function bodies(id: string): Record<string, object> {
  const spec = {
    name: "agent",
    description: "x",
    model: "scripted",
    classifierModel: "scripted",
    instructions: "x",
    toolset: ["kb.read", "mail.send"],
    caps: ["mail.send"],
    companions: { "analyze:image": "x" },
    approvalExpiresMs: 3_600_000,
    approvers: {
      users: [id],
      remindBeforeMs: 1_800_000,
      escalation: { afterMs: 2_000_000, to: { roles: ["admin"] } },
    },
    maxOutputTokens: 1_000,
    limits: { turns: 10, toolCalls: 10, tokens: 10_000, costMicros: 10_000, workedMs: 60_000 },
  };
  const expiresAt = "2040-01-01T00:00:00Z";
  const event = { title: "x", startsAt: expiresAt, endsAt: "2040-01-01T01:00:00Z", timeZone: "UTC" };
  const document = {
    rules: [
      {
        target: { kind: "tool", name: "kb.read" },
        mode: "deny",
        entries: [
          { kind: "unit", unit: "x" },
          { kind: "pattern", pattern: "x*" },
          { kind: "argument", name: "page", value: "x" },
        ],
        expiresAt,
      },
    ],
    dial: { level: "low", expiresAt },
  };
  return {
    "POST /session": { code: "x" },
    "POST /v1/runs": { definition: "agent", input: "go" },
    "POST /v1/tasks": { title: "x" },
    "POST /v1/captures": { url: `https://example.org/${id}`, title: "x", markdown: "- a" },
    "POST /v1/reminders": { text: "x", dueAt: "2040-01-01T00:00:00Z" },
    "PUT /v1/calendar": event,
    "PUT /v1/calendar/{uid}": event,
    "POST /v1/pages": { title: `page ${id}`, okf: "- a [[b]]\n" },
    "PUT /v1/pages/{id}": { okf: "- a\n- b\n" },
    "PATCH /v1/pages/{id}": { dir: "moved" },
    "PUT /v1/nodes/{id}": { okf: "- a\n  - b\n" },
    "POST /v1/import": { files: [{ path: `d/${id}.md`, text: "- a\n" }] },
    "PUT /v1/file-space": { quotaBytes: 2 ** 40 },
    "PUT /v1/access-rules": { dir: "closed", level: "read" },
    "POST /v1/runs/{id}/steer": { message: "x" },
    "POST /v1/approvals/{id}/decision": { answer: "deny", argsDigest: "hash-of-args" },
    "POST /v1/approvals/decisions": {
      decisions: [{ approvalId: id, version: 1, answer: "deny", argsDigest: "hash-of-args" }],
    },
    "POST /v1/approvals/{id}/extension": { until: "2040-01-01T00:00:00Z" },
    "POST /v1/delegations": { to: id, until: "2040-01-01T00:00:00Z" },
    "POST /v1/tasks/{id}/confirm": { argsDigest: "hash-of-args" },
    "POST /v1/tasks/{id}/dismiss": { argsDigest: "hash-of-args" },
    "POST /v1/tasks/{id}/answer": { answer: "x" },
    "POST /v1/kill": { scope: "workspace", reason: "x" },
    "POST /v1/lift": { scope: "workspace" },
    "PATCH /v1/rules": { changes: [{ target: { kind: "tool", name: "kb.read" }, mode: "ask" }] },
    "PUT /v1/rules": document,
    "POST /v1/rules/revoke": { rules: "remembered" },
    "PATCH /v1/runs/{id}/tools": { tools: { "kb.read": "ask" } },
    "PATCH /v1/policy/tools": { tools: { "kb.read": "ask" } },
    "PATCH /v1/policy/dial": { dial: null },
    "PUT /v1/policy/preset": { preset: "unset" },
    "POST /v1/explain": { tool: "kb.read" },
    "POST /v1/simulate": { document },
    "POST /v1/definitions": { spec: { ...spec, name: `agent ${id}` } },
    "POST /v1/definitions/{id}/versions": { spec },
    "PUT /v1/secrets/{name}": { capability: "slack.send", value: "a-value-long-enough" },
    "POST /v1/webhooks": { url: "https://93.184.215.14/hook" },
    "POST /v1/users": { name: `user ${id}`, role: "viewer" },
    "PATCH /v1/users/{id}": { isDisabled: false },
    "POST /v1/tokens": { userId: id, label: "x", expiresAt: "2040-01-01T00:00:00Z" },
  };
}
