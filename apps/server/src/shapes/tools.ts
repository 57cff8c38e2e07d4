import { z } from "@hono/zod-openapi";

const byArguments = "by-arguments";

export const toolSchema = z
  .object({
    name: z.string(),
    description: z.string(),
    inputSchema: z.record(z.string(), z.unknown()).openapi({ description: "JSON Schema of the arguments" }),
    requires: z.array(z.string()).openapi({ description: "Capabilities that a run must have been granted" }),
    effect: z.enum(["read-only", "transactional", "idempotent", "once", "question"]),
    tier: z.enum(["read", "write", "exec", byArguments]),
    risk: z.enum(["read-only", "low", "high", "unknown", byArguments]),
    needsApproval: z.enum(["always", "never", byArguments, "by-policy", "question"]).openapi({
      description:
        "`always`: outbound or irreversible, asks unless a rule or the policy says otherwise; `never`: a reversible edit; `by-policy`: risk and dial decide; `question`: is a question itself",
    }),
    alwaysGates: z.boolean().openapi({ description: "Asks under every policy and every dial" }),
    timeoutMs: z.int().nullable().openapi({ description: "Of one attempt, where the tool sets a limit of its own" }),
    definitionHash: z.string().openapi({ description: "Of what the model is told; approvals are bound to it" }),
  })
  .openapi("Tool");

export const toolListSchema = z.object({ tools: z.array(toolSchema) }).openapi("ToolList");

export type ToolShape = z.infer<typeof toolSchema>;
