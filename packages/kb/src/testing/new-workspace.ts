import { randomUUID } from "node:crypto";
import type { Sql } from "@countersign/db/connect.ts";

export interface TestWorkspace {
  readonly workspaceId: string;
  readonly userId: string;
}

/** A workspace of its own with nothing in it, and an id for who acts there. */
export async function newWorkspace(sql: Sql): Promise<TestWorkspace> {
  const workspaceId = randomUUID();
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'test')`;
  return { workspaceId, userId: await newUser(sql, workspaceId) };
}

/** One more person of a workspace. */
export async function newUser(sql: Sql, workspaceId: string): Promise<string> {
  const id = randomUUID();
  await sql`insert into users (id, workspace_id, name, role) values (${id}, ${workspaceId}, ${id}, 'operator')`;
  return id;
}
