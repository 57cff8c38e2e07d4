import { randomUUID } from "node:crypto";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
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
  };
  switch (tool.effect) {
    case "question":
      throw new Error(`${tool.name} is never executed; its question is asked`);
    case "transactional":
      return transaction(sql, (tx) => tool.execute(parsed, { ...context, tx }));
    default:
      return tool.execute(parsed, {
        ...context,
        read: (body) => transaction(sql, body, { isReadOnly: true }),
        acquire: () => Promise.reject(new Error(`${tool.name} acquires nothing`)),
      });
  }
}
