import * as z from "zod";
import type { RuleEntry } from "./rule.ts";
import { instant, storableText } from "./storable.ts";

/** The most rules of one document, and the most entries of one rule. */
const mostRules = 500;
const mostEntries = 500;

const name = storableText(200);
const text = storableText(8_192);

const target = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("tool"), name }),
  z.strictObject({ kind: z.literal("server"), name }),
  z.strictObject({ kind: z.literal("family"), name }),
  z.strictObject({ kind: z.literal("everything") }),
]);

const entry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("unit"), unit: text }),
  z.strictObject({ kind: z.literal("command"), command: text }),
  z.strictObject({ kind: z.literal("pattern"), pattern: text }),
  z.strictObject({ kind: z.literal("argument"), name, value: text }),
]) satisfies z.ZodType<RuleEntry>;

const rule = z.strictObject({
  target,
  mode: z.enum(["off", "deny", "ask", "allowlist", "allow"]),
  entries: z.array(entry).min(1).max(mostEntries).optional(),
  locked: z.boolean().optional(),
  expiresAt: instant.optional(),
});

/** A list of rules as people write them. Unknown keys are refused. */
export const ruleList = z.array(rule).max(mostRules);

/** All that a layer says, as people write it. */
export const layerDocument = z.strictObject({
  rules: ruleList.optional(),
  dial: z
    .strictObject({
      level: z.enum(["none", "read-only", "low", "high", "read", "write"]),
      expiresAt: instant.optional(),
      locked: z.boolean().optional(),
    })
    .optional(),
  approvalPolicy: z
    .strictObject({ level: z.enum(["none", "outbound", "all"]), locked: z.boolean().optional() })
    .optional(),
  /** Names of the denylist that are to ask. The app's alone. */
  denylistSoftened: z.array(name).max(200).optional(),
});

export type WrittenRule = z.output<typeof rule>;
