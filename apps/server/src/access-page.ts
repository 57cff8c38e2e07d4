import { type Access, access, answerTo, type Asker, askers } from "./access.ts";
import { problems } from "./problem.ts";

const headings: Readonly<Record<Asker, string>> = {
  viewer: "viewer",
  operator: "operator",
  approver: "approver",
  admin: "admin",
  service: "service",
  nobody: "no token",
};

const introduction = `# Who may do what over HTTP

Made of the table in \`apps/server/src/access.ts\` by \`npm run docs -w @countersign/server\`; a test tries every cell against
a running server and compares this page.

- **viewer**, **operator**, **approver**, **admin**: people of these roles, with a token that may decide.
- **service**: a program with the role admin, whose token was made without the right to decide.
- **yes**: allowed on every object of the workspace. **own**: on what is the asker's own (a run that it started, its account,
  its token); on another's the answer is 403. A number is the status of the refusal, with its code.
- **elsewhere**: an object of another workspace, for whoever would be allowed here: it does not exist (404). A dash: the
  route names no object, and sees nothing but the asker's workspace.

A service that acts for a person has the lesser of the two roles, and may decide only where its token was made with that
right. Every list holds the rows of the asker's workspace alone.
`;

/** The text of docs/access.md. */
export function renderAccessPage(): string {
  const lines = access.map((entry) => {
    const { route, on } = entry;
    const cells = askers.map((asker) => cellOf(entry, asker));
    const elsewhere = entry.object === undefined ? "–" : "404";
    return row([`\`${route}\`${on === undefined ? "" : ` ${on}`}`, ...cells, elsewhere]);
  });
  const head = ["route", ...askers.map((asker) => headings[asker]), "elsewhere"];
  return [introduction, row(head), row(head.map(() => "---")), ...lines, ""].join("\n");
}

function cellOf(entry: Access, asker: Asker): string {
  const own = answerTo(entry, asker, "own");
  if (own !== "allowed") return `${problems[own].status} ${own}`;
  return answerTo(entry, asker, "another's") === "allowed" ? "yes" : "own";
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
