import { v7 as newId } from "uuid";
import type { KeyedNode } from "./page-tree.ts";
import type { Writer } from "./scope.ts";

export type CommandKind =
  | "page.created"
  | "page.imported"
  | "page.edited"
  | "page.moved"
  | "page.removed"
  | "node.edited"
  | "node.removed"
  | "bullet.appended"
  | "links.rewritten"
  | "command.undone";

/** One side of a change: what of the page and which nodes it touched, as they were or as they became. */
export interface ChangedState {
  readonly page?: {
    readonly frontmatter?: string;
    readonly title?: string;
    readonly lineEnd?: "\n" | "\r\n";
    readonly dir?: string;
    readonly isRemoved?: boolean;
  };
  readonly nodes?: readonly KeyedNode[];
}

export interface Command {
  readonly pageId: string;
  /** The revision of the page that this command made. */
  readonly revision: number;
  readonly kind: CommandKind;
  /** Null for the command that made the page. */
  readonly before: ChangedState | null;
  readonly after: ChangedState;
  /** The command of the same page that this one takes back. */
  readonly undoes?: string | undefined;
}

/** Writes the one row that says who changed what, and answers its id; belongs in the transaction of the change itself. */
export async function recordCommand(writer: Writer, command: Command): Promise<string> {
  const { tx, workspaceId, userId, call } = writer;
  const id = newId();
  await tx`
    insert into commands (id, workspace_id, page_id, revision, kind, user_id, run_id, call_id, before, after, undoes)
    values (${id}, ${workspaceId}, ${command.pageId}, ${command.revision}, ${command.kind}, ${userId},
            ${call?.runId ?? null}, ${call?.callId ?? null},
            ${command.before === null ? null : JSON.stringify(command.before)}, ${JSON.stringify(command.after)},
            ${command.undoes ?? null})`;
  return id;
}
