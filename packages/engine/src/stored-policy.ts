import type { LayerName, LayerPolicy, Rule, RuleEntry, RuleTarget } from "@countersign/gate/rule.ts";
import type { KillSwitch } from "@countersign/gate/types.ts";
import { z } from "zod";

/** What is stored of a policy, as `stored_policy` of the database gives it; nothing of it is known to have the shape it should. */
export interface StoredPolicy {
  readonly rules: readonly unknown[];
  readonly values: readonly unknown[];
  readonly switches: readonly unknown[];
  readonly pins: readonly unknown[];
}

/** What is stored where nobody has said anything. */
export const nothingStored: StoredPolicy = { rules: [], values: [], switches: [], pins: [] };

/** The part of a policy that is stored. */
export interface ReadPolicy {
  readonly layers: Readonly<Partial<Record<LayerName, LayerPolicy>>>;
  readonly switches: readonly KillSwitch[];
  readonly pins: ReadonlyMap<string, string>;
  readonly softened: ReadonlySet<string>;
  /** Something of it has not the shape it should: what denies still does, and everything else asks. */
  readonly isUnreadable: boolean;
  /** The moments at which a rule or a dial stops to count, earliest first. */
  readonly expiries: readonly Date[];
}

const layerName = z.enum(["app", "workspace", "definition", "run"]);
const moment = z.coerce.date();

const entry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("unit"), unit: z.string() }),
  z.strictObject({ kind: z.literal("command"), command: z.string() }),
  z.strictObject({ kind: z.literal("pattern"), pattern: z.string() }),
  z.strictObject({ kind: z.literal("argument"), name: z.string(), value: z.string() }),
]) satisfies z.ZodType<RuleEntry>;

const storedRule = z.object({
  id: z.string(),
  scope: layerName,
  targetKind: z.enum(["tool", "server", "family", "everything"]),
  targetName: z.string(),
  mode: z.enum(["off", "deny", "ask", "allowlist", "allow"]),
  isLocked: z.boolean(),
  entries: z.array(entry).nullable(),
  isRemembered: z.boolean(),
  definitionHash: z.string().nullable(),
  updatedAt: moment,
  expiresAt: moment.nullable(),
});

const storedValue = z.object({
  scope: layerName,
  dial: z.enum(["none", "read-only", "low", "high", "read", "write"]).nullable(),
  dialExpiresAt: moment.nullable(),
  isDialLocked: z.boolean(),
  approvalPolicy: z.enum(["none", "outbound", "all"]).nullable(),
  isApprovalPolicyLocked: z.boolean(),
  softened: z.array(z.string()).nullable(),
});

const storedSwitch = z.object({ scope: z.enum(["tool", "server"]), name: z.string() });
const storedPin = z.object({ tool: z.string(), definitionHash: z.string() });

const known = new WeakMap<StoredPolicy, ReadPolicy>();

/** Reads what is stored, once for each answer of the database. Never throws: what cannot be read makes everything ask. */
export function readPolicy(stored: StoredPolicy): ReadPolicy {
  const before = known.get(stored);
  if (before !== undefined) return before;
  const read = readAnew(stored);
  known.set(stored, read);
  return read;
}

function readAnew(stored: StoredPolicy): ReadPolicy {
  let isUnreadable = false;
  const parse = <S extends z.ZodType>(schema: S, rows: readonly unknown[]): z.output<S>[] =>
    rows.flatMap((row) => {
      const parsed = schema.safeParse(row);
      isUnreadable ||= !parsed.success;
      return parsed.success ? [parsed.data] : [];
    });
  const rules = parse(storedRule, stored.rules);
  const values = parse(storedValue, stored.values);
  const layers: Partial<Record<LayerName, LayerPolicy>> = {};
  for (const { scope, ...row } of rules) {
    const layer = layers[scope] ?? {};
    layers[scope] = { ...layer, rules: [...(layer.rules ?? []), ruleOf(row)] };
  }
  for (const value of values) layers[value.scope] = { ...layers[value.scope], ...valuesOf(value) };
  return {
    layers,
    switches: parse(storedSwitch, stored.switches),
    pins: new Map(parse(storedPin, stored.pins).map(({ tool, definitionHash }) => [tool, definitionHash])),
    softened: new Set(values.flatMap(({ softened }) => softened ?? [])),
    isUnreadable,
    expiries: [...rules.map(({ expiresAt }) => expiresAt), ...values.map(({ dialExpiresAt }) => dialExpiresAt)]
      .filter((at) => at !== null)
      .toSorted((one, other) => one.getTime() - other.getTime()),
  };
}

function ruleOf(row: Omit<z.output<typeof storedRule>, "scope">): Rule {
  const { id, mode, entries, isLocked, isRemembered, definitionHash, updatedAt, expiresAt } = row;
  return {
    id,
    target: targetOf(row.targetKind, row.targetName),
    mode,
    createdAt: updatedAt,
    ...(entries === null ? {} : { entries }),
    ...(isLocked ? { locked: true } : {}),
    ...(isRemembered ? { remembered: true as const } : {}),
    ...(definitionHash === null ? {} : { definitionHash }),
    ...(expiresAt === null ? {} : { expiresAt }),
  };
}

/** The target of a rule as its two columns have it. */
export function targetOf(kind: RuleTarget["kind"], name: string): RuleTarget {
  return kind === "everything" ? { kind } : { kind, name };
}

function valuesOf(value: z.output<typeof storedValue>): Pick<LayerPolicy, "dial" | "approvalPolicy"> {
  const { dial, dialExpiresAt, isDialLocked, approvalPolicy, isApprovalPolicyLocked } = value;
  return {
    ...(dial === null
      ? {}
      : {
          dial: { level: dial, locked: isDialLocked, ...(dialExpiresAt === null ? {} : { expiresAt: dialExpiresAt }) },
        }),
    ...(approvalPolicy === null ? {} : { approvalPolicy: { level: approvalPolicy, locked: isApprovalPolicyLocked } }),
  };
}
