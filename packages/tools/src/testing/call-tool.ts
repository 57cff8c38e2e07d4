import { randomUUID } from "node:crypto";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { noteShown, nothingShown, readShown } from "@countersign/engine/shown.ts";
import type { CallContext, Tool, ToolResult } from "@countersign/engine/tool.ts";

export type Caller = Pick<CallContext, "workspaceId" | "runId" | "userId">;

/**
 * Parses `args` with the tool's schema and executes it as the worker does: in a transaction of the call's own, read-only
 * where the tool only reads. Rejects where the schema refuses.
 */
export async function callTool(sql: Sql, tool: Tool, caller: Caller, args: unknown): Promise<ToolResult> {
  const parsed = tool.schema.parse(args);
  const context = {
    ...caller,
    callId: randomUUID(),
    idempotencyKey: randomUUID(),
    preconditions: [],
    selectedOptionId: undefined,
    signal: new AbortController().signal,
    shown: nothingShown(),
  };
  switch (tool.effect) {
    case "question":
      throw new Error(`${tool.name} is never executed; its question is asked`);
    case "transactional":
      return transaction(sql, async (tx) => {
        const result = await tool.execute(parsed, { ...context, tx });
        await noteShown(tx, caller, context.shown);
        return result;
      });
    default:
      return tool.execute(parsed, {
        ...context,
        read: (body) => readShown(sql, caller, context.shown, body),
        acquire: () => Promise.reject(new Error(`${tool.name} acquires nothing`)),
      });
  }
}
