import type { CallContext, Effect, Tool, ToolResult } from "./tool.ts";

/** What carries out one attempt of a call. */
export type Executor = (args: unknown, context: CallContext) => Promise<ToolResult>;

/** What a decorator may know of the tool it stands around. */
export interface DecoratedTool {
  readonly name: string;
  readonly effect: Effect;
  readonly family?: string | undefined;
}

/**
 * Stands around the executor of a tool: what it does before and after `next` happens around every attempt. It may answer
 * without `next`, and then says `failed`, since nothing happened. Arguments and context go on as they came. It runs
 * after the gate and after begin-call, so it neither grants anything nor sees calls that were denied.
 */
export type Decorator = (next: Executor, tool: DecoratedTool) => Executor;

/** The tool with the decorators around its executor, the first outermost. A question has none. */
export function decorateTool(tool: Tool, decorators: readonly Decorator[]): Tool {
  if (tool.effect === "question" || decorators.length === 0) return tool;
  const execute = tool.execute.bind(tool) as unknown as Executor;
  const decorated = decorators.reduceRight<Executor>((next, decorate) => decorate(next, tool), execute);
  return { ...tool, execute: decorated };
}
