import { randomUUID as newId } from "node:crypto";
import { join } from "node:path";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { listSecrets, putSecret } from "@countersign/broker/secrets.ts";
import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { definitionSpec } from "@countersign/engine/definition.ts";
import { importFolder } from "@countersign/kb/import-folder.ts";
import { hashToken } from "@countersign/server/auth.ts";
import { appendAudit } from "@countersign/server/queries/audit.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { z } from "zod";
import { lockWorkspaces } from "./lock-workspaces.ts";
import { demoDefinitions, demoSender, demoUsers, demoWorkspace } from "./demo.ts";
import type { MailServerSettings } from "./mail-server.ts";
import { readPrivate, writePrivate } from "./private-file.ts";

/** Whose the data folder is. */
export interface Home {
  readonly workspaceId: string;
  readonly userId: string;
  /** The workspace is the demo's, so that its runs may be started. */
  readonly isDemo: boolean;
}

const pagesDir = join(import.meta.dirname, "../../demo");
const seedSchema = z.object({ workspaceId: z.uuid(), arePagesIn: z.boolean() });

/**
 * The workspace and the administrator that `dev` acts for. An empty database gets the demo's, with its people and
 * definitions; one that is in use is left as it is.
 */
export async function findHome(sql: Sql): Promise<Home> {
  const workspaceId = await transaction(sql, findOrMakeWorkspace);
  const [user] = await sql<{ id: string; workspace: string }[]>`
    select u.id, w.name as workspace
      from users u join workspaces w on w.id = u.workspace_id
     where u.workspace_id = ${workspaceId} and u.role = 'admin' and u.disabled_at is null
     order by u.created_at, u.id limit 1`;
  if (user === undefined) throw new Error(`The workspace ${workspaceId} has no administrator to act for`);
  return { workspaceId, userId: user.id, isDemo: user.workspace === demoWorkspace };
}

/** Afterwards the demo's workspace has its pages, from the first start on; one that was interrupted is gone on with. */
export async function settlePages(sql: Sql, { workspaceId, userId }: Home, seedFile: string): Promise<void> {
  const seed = readPrivate(seedFile, seedSchema);
  if (seed?.workspaceId === workspaceId && seed.arePagesIn) return;
  await importFolder(sql, { workspaceId, userId, folder: pagesDir });
  writePrivate(seedFile, { workspaceId, arePagesIn: true });
}

async function findOrMakeWorkspace(tx: Tx): Promise<string> {
  // Two folders may share one database.
  await lockWorkspaces(tx);
  const [known] = await tx<{ id: string }[]>`select id from workspaces order by created_at, id limit 1`;
  if (known !== undefined) return known.id;

  const workspaceId = newId();
  await tx`insert into workspaces (id, name) values (${workspaceId}, ${demoWorkspace})`;
  await tx`insert into policies (scope_id, scope, workspace_id) values (${workspaceId}, 'workspace', ${workspaceId})`;
  for (const { name, role } of demoUsers) {
    await tx`insert into users (id, workspace_id, name, role) values (${newId()}, ${workspaceId}, ${name}, ${role})`;
  }
  for (const written of demoDefinitions) {
    const spec = definitionSpec.parse(written);
    const id = newId();
    await tx`insert into definitions (id, workspace_id, name, current_version) values (${id}, ${workspaceId}, ${spec.name}, 1)`;
    await tx`insert into definition_versions (definition_id, version, spec) values (${id}, 1, ${JSON.stringify(spec)}::text::json)`;
    await tx`insert into policies (scope_id, scope, workspace_id) values (${id}, 'definition', ${workspaceId})`;
  }
  return workspaceId;
}

const way = "countersign dev";

/** How long a token counts in a workspace that is not the demo's, where nobody revokes it. */
const tokenMs = 24 * 60 * 60_000;

/**
 * A token of the home's user. In the demo's workspace it stays: the given one where it still counts, else a new one. In
 * any other it is new at each start, expires after a day, and the given one counts no longer.
 */
export async function settleToken(sql: Sql, home: Home, known: string | undefined): Promise<string> {
  const { workspaceId, userId, isDemo } = home;
  if (known !== undefined && !isDemo) await revokeToken(sql, home, known);
  if (known !== undefined && isDemo) {
    const found = await sql`
      select from tokens
       where hash = ${hashToken(known)} and user_id = ${userId} and revoked_at is null
         and (expires_at is null or expires_at > clock_timestamp())`;
    if (found.length > 0) return known;
  }
  return await transaction(sql, async (tx) => {
    const expiry = isDemo ? {} : { expiresAt: new Date(Date.now() + tokenMs) };
    const { id, token } = await createToken(tx, { workspaceId, userId, label: way, mayDecide: true, ...expiry });
    await appendAudit(tx, home, "token.created", id, { user: userId, mayDecide: true, actsFor: [], ...expiry, way });
    return token;
  });
}

/** Afterwards the token is refused wherever it is sent; one that is not the home's user's is left alone. */
export async function revokeToken(sql: Sql, home: Home, token: string): Promise<void> {
  await transaction(sql, async (tx) => {
    const [revoked] = await tx<{ id: string }[]>`
      update tokens set revoked_at = clock_timestamp()
       where hash = ${hashToken(token)} and user_id = ${home.userId} and revoked_at is null
      returning id`;
    if (revoked !== undefined) await appendAudit(tx, home, "token.revoked", revoked.id, { user: home.userId, way });
  });
}

const secretName = "demo-mail";
const mailSecretSchema = z.object({ workspaceId: z.string(), port: z.int() });

/**
 * Afterwards the workspace's secret of `mail.send` names the local mail server, sealed to the worker's key. A secret that
 * somebody else set for it stays.
 */
export async function settleMailSecret(
  sql: Sql,
  { workspaceId, userId }: Home,
  dataDir: string,
  settings: MailServerSettings,
): Promise<void> {
  const notesFile = join(dataDir, "mail-secret.json");
  const note = readPrivate(notesFile, mailSecretSchema);
  const isNoted = note?.workspaceId === workspaceId && note.port === settings.port;
  const secrets = await listSecrets(sql, workspaceId);
  if (isNoted && secrets.some((secret) => secret.name === secretName)) return;

  const { port, user, pass } = settings;
  const value = JSON.stringify({ host: "127.0.0.1", port, secure: false, user, pass, from: demoSender });
  const stored = await putSecret(sql, await readPublicKey(dataDir), {
    workspaceId,
    name: secretName,
    capability: "mail.send",
    value,
    createdBy: userId,
  });
  if (stored.kind === "stored") writePrivate(notesFile, { workspaceId, port });
}
