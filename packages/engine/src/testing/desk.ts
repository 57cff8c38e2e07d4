import { createHash } from "node:crypto";
import { z } from "zod";
import { defineTool, type Precondition, type Proposed, type Tool, type ToolResult } from "../tool.ts";

const schema = z.strictObject({ name: z.string(), from: z.string(), to: z.string() });

/** Pages on a desk, which a tool of two phases changes: it shows the change first, and looks once more as it writes. */
export interface Desk {
  readonly pages: Map<string, string>;
  readonly tool: Tool;
  /** The arguments of every attempt, in order. */
  readonly attempts: unknown[];
  /** How often it was asked what it would do. */
  readonly proposals: () => number;
  /** Done by an attempt between its start and its second look. */
  whileWriting?: (() => void | Promise<void>) | undefined;
}

export function makeDesk(pages: Readonly<Record<string, string>>, over: object = {}): Desk {
  const desk = new Map(Object.entries(pages));
  const attempts: unknown[] = [];
  let proposals = 0;

  const preconditionOf = (name: string): Precondition => ({
    kind: "page",
    name,
    hash: createHash("sha256")
      .update(desk.get(name) ?? "absent")
      .digest("hex"),
  });

  const propose = async ({ name, from, to }: z.infer<typeof schema>): Promise<Proposed> => {
    proposals += 1;
    const page = desk.get(name);
    if (page === undefined) return { kind: "failed", content: `there is no page ${name}` };
    if (!page.includes(from)) return { kind: "failed", content: `${name} does not say ${from}` };
    return {
      kind: "proposed",
      message: `changes ${name}`,
      preview: `--- ${name}\n+++ ${name}\n@@ -1 +1 @@\n-${page}\n+${page.replace(from, to)}`,
      preconditions: [preconditionOf(name)],
    };
  };

  const execute = async (
    args: z.infer<typeof schema>,
    { preconditions }: { readonly preconditions: readonly Precondition[] },
  ): Promise<ToolResult> => {
    attempts.push(args);
    await result.whileWriting?.();
    const { name, from, to } = args;
    const [bound] = preconditions;
    if (bound?.hash !== preconditionOf(name).hash) return { kind: "changed", content: `${name} is not what it was` };
    desk.set(name, (desk.get(name) ?? "").replace(from, to));
    return { kind: "done", content: `changed ${name}` };
  };

  const tool = defineTool<z.infer<typeof schema>>({
    name: "edit",
    description: "changes a page",
    schema,
    tier: "write",
    risk: "high",
    needsApproval: true,
    effect: "once",
    units: ({ name }) => [name],
    details: ({ name }) => [`Page: ${name}`],
    propose,
    execute,
    ...over,
  });
  const result: Desk = { pages: desk, tool, attempts, proposals: () => proposals };
  return result;
}
