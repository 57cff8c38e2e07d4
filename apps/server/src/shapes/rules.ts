import { presetNames } from "@countersign/gate/presets.ts";
import { instant, storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, moment, storableLine, uuid } from "./common.ts";

export const scopeName = z.enum(["app", "workspace", "definition", "run"]);
const mode = z.enum(["off", "deny", "ask", "allowlist", "allow"]);
export const dialLevel = z.enum(["none", "read-only", "low", "high", "read", "write"]);
export const approvalPolicy = z.enum(["none", "outbound", "all"]);
export const presetName = z.enum(presetNames);

/** Which scope a request is about. */
export const scopeQuery = z.object({
  scope: scopeName.default("workspace"),
  id: uuid.optional().openapi({ description: "Of the definition or the run" }),
});

const name = storableLine(200);

const targetSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("tool"), name }),
    z.strictObject({ kind: z.literal("server"), name }),
    z.strictObject({ kind: z.literal("family"), name }),
    z.strictObject({ kind: z.literal("everything") }),
  ])
  .openapi("RuleTarget");

const text = storableText(8_192);

const entrySchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("unit"), unit: text }),
    z.strictObject({ kind: z.literal("command"), command: text }),
    z.strictObject({ kind: z.literal("pattern"), pattern: text }),
    z.strictObject({ kind: z.literal("argument"), name, value: text }),
  ])
  .openapi("RuleEntry");

/** What a rule says, without what storing it adds. */
export const newRuleSchema = z.object({ target: targetSchema, mode, entries: z.array(entrySchema).nullable() });

const ruleSchema = z
  .object({
    id: z.string(),
    version: z.int().openapi({ description: "Moves with every change; goes into `version` of a change" }),
    target: targetSchema,
    mode,
    entries: z
      .array(entrySchema)
      .nullable()
      .openapi({ description: "What of the target it speaks of; null: all of it" }),
    locked: z.boolean().openapi({ description: "Inner layers may only tighten it" }),
    isRemembered: z.boolean().openapi({ description: "Left behind by a decision on the approval `approvalId`" }),
    approvalId: z.string().nullable(),
    expiresAt: moment.nullable(),
    createdBy: actorSchema.nullable().openapi({ description: "Null: the configuration" }),
    updatedAt: moment,
  })
  .openapi("Rule");

const dialSchema = z.object({ level: dialLevel, expiresAt: moment.nullable(), locked: z.boolean() });
const approvalPolicySchema = z.object({ level: approvalPolicy, locked: z.boolean() });

export const layerSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    version: z.int().openapi({ description: "The scope's policy version, also as ETag; 0 where nothing was set yet" }),
    rules: z.array(ruleSchema),
    dial: dialSchema.nullable().openapi({ description: "What runs unasked; null: the next layer out decides" }),
    approvalPolicy: approvalPolicySchema.nullable(),
    presets: z.array(presetName).openapi({
      description: "The presets that this comes to, several where they are the same; none: it is a setting of its own",
    }),
  })
  .openapi("PolicyLayer");

export const changesBody = z
  .strictObject({
    changes: z
      .array(
        z.strictObject({
          target: targetSchema,
          mode: mode.nullable().openapi({ description: "Null takes the rule away" }),
          entries: z.array(entrySchema).min(1).max(500).optional(),
          locked: z.boolean().optional(),
          expiresAt: instant.optional(),
          version: z.int().min(0).max(999_999_999).optional().openapi({
            description: "Of the rule you saw, 0 for none; absent, whatever is there is written over",
          }),
        }),
      )
      .min(1)
      .max(500),
  })
  .openapi("RuleChanges");

const waiting = z.int().openapi({
  description: "Open approvals that it touches and that workers judge again; 1001 stands for more than 1,000",
});

export const outdoneSchema = z
  .object({
    verdict: z.enum(["allow", "ask", "deny"]),
    reason: z.string().openapi({ description: "As the gate names it, such as `ask_locked@app`" }),
    layer: scopeName.nullable().openapi({ description: "Where it is said; null where the tool itself says so" }),
    ruleId: z.string().nullable(),
  })
  .openapi("Outdone", {
    description:
      "What every call of the target comes to whatever the rule says: it is stored, and has no effect now. Absent where it has",
  });

export const changedSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    changes: z.array(
      z.object({
        outcome: z.enum(["written", "cleared", "unchanged"]),
        target: targetSchema,
        id: z.string().nullable(),
        version: z.int(),
        waiting,
        outdone: outdoneSchema.optional(),
        before: z
          .unknown()
          .optional()
          .openapi({ description: "With dryRun=true: what is there; absent where nothing is" }),
        after: z
          .unknown()
          .optional()
          .openapi({ description: "With dryRun=true: what would be there; absent where nothing" }),
        isLoosening: z
          .boolean()
          .optional()
          .openapi({ description: "With dryRun=true: calls could run that would wait or be denied now" }),
      }),
    ),
  })
  .openapi("ChangedRules");

/** A document is checked as a whole, with the line of every problem, so its own schema lets everything through. */
export const documentBody = z
  .looseObject({
    rules: z.array(z.unknown()).optional(),
    dial: z.unknown().optional(),
    approvalPolicy: z.unknown().optional(),
  })
  .openapi("PolicyDocument", { description: "All that a scope says: what is not in it is taken away" });

export const appliedDocumentSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    isDryRun: z.boolean(),
    version: z.int(),
    changes: z.array(
      z.object({
        path: z.string().openapi({ description: "Such as `tool:mail.send`, `dial` or `approvalPolicy`" }),
        before: z.unknown().openapi({ description: "Absent where nothing was there" }),
        after: z.unknown().openapi({ description: "Absent where nothing is left" }),
        outdone: outdoneSchema.optional(),
      }),
    ),
    waiting,
  })
  .openapi("AppliedPolicy");

export const revokeBody = z
  .strictObject({
    scope: scopeName.default("workspace"),
    id: uuid.optional(),
    rules: z
      .union([
        z.literal("remembered"),
        z
          .array(z.strictObject({ id: uuid, version: z.int().min(1).max(999_999_999) }))
          .min(1)
          .max(500),
      ])
      .openapi({ description: "Each by its id and the version you saw; `remembered`: all that decisions left there" }),
    reason: storableText(500).optional(),
  })
  .openapi("RuleRevocations");

export const revokedRulesSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    rules: z.array(
      z.object({
        id: z.string(),
        outcome: z.enum(["revoked", "already", "stale", "not_found"]),
        version: z.int().nullable(),
        waiting,
      }),
    ),
  })
  .openapi("RevokedRules");

export const dialBody = z
  .strictObject({
    dial: z
      .strictObject({
        level: dialLevel,
        expiresAt: instant.optional(),
        locked: z.boolean().optional(),
      })
      .nullable()
      .optional()
      .openapi({ description: "Null takes it away: the next layer out decides" }),
    approvalPolicy: z.strictObject({ level: approvalPolicy, locked: z.boolean().optional() }).nullable().optional(),
  })
  .openapi("DialChange");

export const presetBody = z.strictObject({ preset: presetName }).openapi("PresetChange");

export const dialChangedSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    outcome: z.enum(["set", "unchanged"]),
    version: z.int(),
    waiting,
  })
  .openapi("ChangedDial");

const layered = z.object({ layer: scopeName, locked: z.boolean() });

export const effectiveSchema = z
  .object({
    scope: scopeName,
    id: z.string(),
    version: z.int(),
    dial: layered.extend({ level: dialLevel }).nullable(),
    approvalPolicy: z.object({ level: approvalPolicy }),
    tools: z.array(
      z.object({
        name: z.string(),
        family: z.string().nullable(),
        server: z.string().nullable(),
        effective: layered.extend({ mode, ruleId: z.string() }).nullable().openapi({
          description:
            "What the rules set, and the layer it comes from; null: no layer says anything, and the dial decides",
        }),
        own: z.object({ id: z.string(), mode, version: z.int() }).nullable().openapi({
          description: "What this scope itself says of the tool",
        }),
        isOffered: z.boolean().openapi({ description: "The model is told of it" }),
        isKilled: z.boolean(),
      }),
    ),
  })
  .openapi("EffectivePolicy");

const modeChange = z.record(name, mode.nullable());

export const toolsBody = z
  .strictObject({
    tools: modeChange.optional(),
    families: modeChange.optional(),
    servers: modeChange.optional(),
  })
  .refine((body) => Object.values(body).some((part) => part !== undefined && Object.keys(part).length > 0), {
    message: "names nothing to change",
  })
  .openapi("ToolModes", {
    description: "The mode of each; null, or what would be inherited anyway, takes the entry away",
  });

export type Layer = z.infer<typeof layerSchema>;
export type EffectivePolicy = z.infer<typeof effectiveSchema>;
