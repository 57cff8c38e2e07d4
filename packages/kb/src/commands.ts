import { v7 as newId } from "uuid";
import type { Writer } from "./scope.ts";

export interface Command {
  readonly pageId: string;
  /** The revision of the page that this command made. */
  readonly revision: number;
  readonly kind: "page.created" | "page.imported" | "bullet.appended";
  readonly before: unknown;
  readonly after: unknown;
}

/** Writes the one row that says who changed what; belongs in the transaction of the change itself. */
export async function recordCommand(writer: Writer, command: Command): Promise<void> {
  const { tx, workspaceId, userId, call } = writer;
  await tx`
    insert into commands (id, workspace_id, page_id, revision, kind, user_id, run_id, call_id, before, after)
    values (${newId()}, ${workspaceId}, ${command.pageId}, ${command.revision}, ${command.kind}, ${userId},
            ${call?.runId ?? null}, ${call?.callId ?? null}, ${textOf(command.before)}, ${textOf(command.after)})`;
}

function textOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
