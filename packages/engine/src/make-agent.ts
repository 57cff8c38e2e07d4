import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { type Definition, definitionSpec } from "./definition.ts";

/** Where an agent lives and whom its runs act for. */
export interface MadeAgent {
  readonly workspaceId: string;
  readonly userId: string;
  readonly definitionId: string;
}

/**
 * Afterwards the agent is there as version 1 of a definition: in the given workspace, or in a new one with one
 * administrator. For tests and for programs that embed an engine; a team's workspaces are made by the server.
 */
export async function makeAgent(
  sql: Sql,
  spec: Pick<Definition, "name" | "model" | "toolset"> & Partial<Definition>,
  home?: Pick<MadeAgent, "workspaceId" | "userId">,
): Promise<MadeAgent> {
  const parsed = definitionSpec.parse(spec);
  return await transaction(sql, async (tx) => {
    const { workspaceId, userId } = home ?? { workspaceId: uuidv7(), userId: uuidv7() };
    if (home === undefined) {
      await tx`insert into workspaces (id, name) values (${workspaceId}, ${parsed.name})`;
      await tx`insert into policies (scope_id, scope, workspace_id) values (${workspaceId}, 'workspace', ${workspaceId})`;
      await tx`insert into users (id, workspace_id, name, role) values (${userId}, ${workspaceId}, 'Administrator', 'admin')`;
    }
    const definitionId = uuidv7();
    await tx`insert into definitions (id, workspace_id, name, current_version) values (${definitionId}, ${workspaceId}, ${parsed.name}, 1)`;
    await tx`insert into definition_versions (definition_id, version, spec) values (${definitionId}, 1, ${JSON.stringify(parsed)}::text::json)`;
    await tx`insert into policies (scope_id, scope, workspace_id) values (${definitionId}, 'definition', ${workspaceId})`;
    return { workspaceId, userId, definitionId };
  });
}
