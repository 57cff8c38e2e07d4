import { z } from "@hono/zod-openapi";
import { moment, storableLine, uuid } from "./common.ts";
import { documentBody, newRuleSchema, scopeName, scopeQuery } from "./rules.ts";

const verdictName = z.enum(["allow", "ask", "pick", "deny", "invalid", "held"]);
const detail = z.string().optional().openapi({ description: "The reason in words, where it needs them" });
const judged = z.object({ verdict: verdictName, row: z.string(), reason: z.string() });

export const explainBody = z
  .strictObject({
    call: uuid.optional().openapi({ description: "A recorded call; otherwise say which tool, with what, and where" }),
    scope: scopeName.default("workspace"),
    id: uuid.optional().openapi({ description: "Of the definition or the run" }),
    tool: storableLine(200).optional(),
    args: z.string().max(200_000).default("{}").openapi({ description: "JSON text, as a model would write it" }),
  })
  .openapi("ExplainedCall");

export const explanationSchema = z
  .object({
    tool: z.string(),
    callId: z.string().nullable(),
    recorded: judged.extend({ policyVersions: z.string() }).nullable().openapi({
      description: "What the gate said when the call was judged last, where it is a recorded one",
    }),
    now: judged.extend({ policyVersions: z.string(), detail }),
    rows: z
      .array(
        z.object({
          row: z.string(),
          said: z.object({ verdict: verdictName, reason: z.string(), detail }).nullable().openapi({
            description: "Null where the row does not match",
          }),
          isFirst: z.boolean().openapi({ description: "The first that matches: it gives the verdict" }),
        }),
      )
      .openapi({ description: "Every row of the decision table, looked at by itself" }),
  })
  .openapi("Explanation");

export const simulateBody = z
  .strictObject({
    scope: scopeName.default("workspace"),
    id: uuid.optional(),
    days: z.number().positive().max(90).default(7),
    document: z.union([documentBody, z.string()]).openapi({
      description:
        "What the scope would say, in place of all it says now; as text, whatever is wrong in it is told with its line",
    }),
  })
  .openapi("Simulated");

const counts = z.object({
  allow: z.int(),
  ask: z.int(),
  pick: z.int(),
  deny: z.int(),
  invalid: z.int(),
  held: z.int(),
});

export const simulationSchema = z
  .object({
    judged: z.int().openapi({ description: "Calls of the time, the newest 5,000 at most" }),
    isTruncated: z.boolean(),
    since: moment,
    before: counts,
    after: counts,
    changes: z
      .array(z.object({ callId: z.string(), runId: z.string(), tool: z.string(), before: judged, after: judged }))
      .openapi({ description: "Calls that would be judged otherwise, newest first, at most 200" }),
    changeCount: z.int(),
  })
  .openapi("Simulation");

export const suggestionsQuery = scopeQuery.extend({
  days: z.coerce.number().positive().max(90).default(7),
  least: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000)
    .default(3)
    .openapi({ description: "How often something must have been approved" }),
});

export const suggestionsSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    since: moment,
    isTruncated: z.boolean(),
    decided: z.int().openapi({ description: "Calls of the time that a person decided" }),
    suggestions: z
      .array(
        z.object({
          rule: newRuleSchema.openapi({ description: "As PATCH /v1/rules takes it" }),
          saved: z.int().openapi({ description: "How many of the approved calls would not have asked" }),
          freed: z.int().openapi({ description: "How many calls of the time, decided or not, would have run unasked" }),
          examples: z
            .array(
              z.object({
                callId: z.string(),
                runId: z.string(),
                decision: z.enum(["approve", "deny"]).openapi({
                  description: "What a person said; a call whose arguments were changed counts as denied",
                }),
                verdict: verdictName.openapi({ description: "What the call comes to with the rule in force" }),
              }),
            )
            .openapi({
              description: "Calls that the rule lets run, and some of the same tool that it leaves as they are",
            }),
        }),
      )
      .openapi({ description: "The one that saves most first" }),
  })
  .openapi("Suggestions");
