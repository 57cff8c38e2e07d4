import { randomUUID as newId } from "node:crypto";
import { checkServer, checkTables } from "@countersign/db/boot-check.ts";
import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { newUserSchema } from "@countersign/server/shapes/people.ts";
import { storableLine } from "@countersign/server/shapes/common.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { CliError } from "../exit.ts";
import { makeVisible } from "../terminal/visible.ts";
import type { Cli } from "../verb.ts";
import { withLocalDatabase } from "./local-database.ts";
import { lockWorkspaces } from "./lock-workspaces.ts";

export interface InitOptions {
  readonly workspace: string;
  readonly admin: string;
  readonly email?: string;
}

interface MadeWorkspace {
  readonly workspaceId: string;
  readonly userId: string;
  /** In this answer and nowhere else. */
  readonly token: string;
}

const way = "countersign init";

/** `countersign init`: needs the database alone. Throws BootRefusal, and CliError where nothing was made. */
export async function initWorkspace(cli: Cli, options: InitOptions): Promise<void> {
  const asked = checkOptions(options);
  const made = await withLocalDatabase(cli.config, async (sql) => {
    await checkServer(sql);
    await checkTables(sql);
    return await makeWorkspace(sql, asked);
  });
  if (cli.isJson) return cli.printJson({ ...made, workspace: asked.workspace, admin: asked.admin });
  cli.print(tellNext(cli, asked, made.token));
}

/**
 * Afterwards the workspace is there with one administrator and one token that may decide, and the audit says so; or
 * nothing is. Throws CliError `conflict` where a workspace has the name.
 */
async function makeWorkspace(sql: Sql, asked: InitOptions): Promise<MadeWorkspace> {
  return await transaction(sql, async (tx) => await makeIn(tx, asked));
}

async function makeIn(tx: Tx, { workspace, admin, email }: InitOptions): Promise<MadeWorkspace> {
  await lockWorkspaces(tx);
  const known = await tx`select from workspaces where name = ${workspace}`;
  if (known.length > 0) {
    throw new CliError(
      "conflict",
      `There is a workspace ${JSON.stringify(workspace)} in this database already, so nothing was made. An administrator of it makes tokens with ./countersign tokens create; for a further workspace give another --workspace.`,
    );
  }
  const workspaceId = newId();
  const userId = newId();
  await tx`insert into workspaces (id, name) values (${workspaceId}, ${workspace})`;
  await tx`insert into policies (scope_id, scope, workspace_id) values (${workspaceId}, 'workspace', ${workspaceId})`;
  await tx`
    insert into users (id, workspace_id, name, role, email)
    values (${userId}, ${workspaceId}, ${admin}, 'admin', ${email ?? null})`;
  const { id: tokenId, token } = await createToken(tx, { workspaceId, userId, label: way, mayDecide: true });
  const rows = [
    { action: "workspace.created", subject: workspaceId, details: { way } },
    { action: "user.created", subject: userId, details: { role: "admin", isService: false, way } },
    { action: "token.created", subject: tokenId, details: { user: userId, mayDecide: true, actsFor: [], way } },
  ];
  for (const { action, subject, details } of rows) {
    await tx`
      insert into audit (workspace_id, actor, action, subject, details)
      values (${workspaceId}, 'system', ${action}, ${subject}, ${JSON.stringify(details)}::text::json)`;
  }
  return { workspaceId, userId, token };
}

function checkOptions({ workspace, admin, email }: InitOptions): InitOptions {
  const name = storableLine(100).safeParse(workspace);
  if (!name.success) throw unfit("--workspace", workspace, name.error.issues[0]?.message);
  const user = newUserSchema.safeParse({ name: admin, role: "admin", ...(email === undefined ? {} : { email }) });
  if (!user.success) {
    const [issue] = user.error.issues;
    if (issue?.path[0] === "email") throw unfit("--email", email ?? "", "expected an address such as ada@example.com");
    throw unfit("--admin", admin, issue?.message);
  }
  return { workspace, admin, ...(email === undefined ? {} : { email }) };
}

function unfit(option: string, given: string, message = "it does not fit"): CliError {
  return new CliError("usage", `${option} is ${JSON.stringify(given)}: ${message}. Nothing was made.`);
}

function tellNext(cli: Cli, { workspace, admin }: InitOptions, token: string): string[] {
  const { style } = cli.terminal;
  const { port = "7070", publicUrl: url = `http://127.0.0.1:${port}` } = cli.config;
  return [
    `${style.green("✔")} The workspace ${makeVisible(workspace)} is there, with ${makeVisible(admin)} as its administrator.`,
    "",
    `The administrator's token, which may decide. It is shown this once; keep it where only ${makeVisible(admin)} can read it:`,
    `  ${style.bold(token)}`,
    "",
    "What comes next, each with this DATABASE_URL and COUNTERSIGN_DATA:",
    `  ${style.cyan("./countersign serve")}     ${style.dim("the HTTP interface and the web app")}`,
    `  ${style.cyan("./countersign worker")}    ${style.dim("drives runs, beside it")}`,
    "",
    "Then, in a shell that is to work with it:",
    `  ${style.cyan(`export COUNTERSIGN_URL=${url} COUNTERSIGN_TOKEN=${token}`)}`,
    `  ${style.cyan("./countersign login")}     ${style.dim("a link that signs you in with a browser")}`,
  ];
}
