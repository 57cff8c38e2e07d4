/** The verbs that list what the server names by its routes. */
const lists: Readonly<Record<string, string>> = {
  "access-rules": "kb access show",
  approvals: "tasks ls",
  commands: "kb history",
  definitions: "defs ls",
  delegations: "tasks delegations",
  memory: "memory ls",
  reminders: "reminders ls",
  rules: "rules ls",
  secrets: "secrets ls",
  tokens: "tokens ls",
  users: "people ls",
};

/**
 * A refusal of the server's in the words of the command line: its verbs for routes that list something, and places of the
 * request without the part of it that nobody here has written. What has no verb is left as it is.
 */
export function inOwnWords(detail: string): string {
  return detail
    .replaceAll(/\bGET \/v1\/([a-z-]+)(?= (?:lists|shows)\b)/g, (route, name: string) =>
      Object.hasOwn(lists, name) ? `./countersign ${lists[name]}` : route,
    )
    .replaceAll(/(^|[\s;(])(?:json|query|param|header)\.(?=[\w.[\]-]+:)/g, "$1");
}
