import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { type DialChange, setDial } from "@countersign/engine/commits/set-dial.ts";
import { type RuleChange, setRules } from "@countersign/engine/commits/set-rules.ts";
import { changesTo, coversOf, keyOf } from "@countersign/engine/rule-changes.ts";
import { readWrittenRules, type WrittenRule } from "@countersign/engine/read-rules.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { type CheckedRule, checkRules, type KnownTools } from "@countersign/gate/check-rules.ts";
import { type CheckedLayer, readPolicyDocument } from "@countersign/gate/policy-document.ts";
import { type PresetName, presetOf, rulesUnder } from "@countersign/gate/presets.ts";
import type { LayerName } from "@countersign/gate/rule.ts";
import type { z } from "@hono/zod-openapi";
import { type Actor, hasRole } from "./auth.ts";
import { loosens } from "./loosens.ts";
import { findOutdone } from "./outdone-rules.ts";
import { authorOf, type PolicyScope, requirePolicyRight } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import { readLayer } from "./queries/rules.ts";
import type {
  appliedDocumentSchema,
  changedSchema,
  changesBody,
  dialBody,
  dialChangedSchema,
  Layer,
} from "./shapes/rules.ts";

type Asked = z.infer<typeof changesBody>["changes"];

function knownTools(tools: Tools): KnownTools {
  return { tools: [...tools.values()].map(({ tool }) => tool) };
}

/** What changes would make of a scope's rules, each beside what is there; refused as they would be, but for the right to. */
export async function previewRules(
  sql: Queryable,
  scope: PolicyScope,
  asked: Asked,
  tools: Tools,
): Promise<z.infer<typeof changedSchema>> {
  const changes = checkChanges(asked, scope, tools);
  const written = await readWrittenRules(sql, scope.scopeId);
  const found = changes.map(({ target, rule, seenVersion }) => {
    const there = written.find((one) => keyOf(one.target) === keyOf(target));
    const [before, after] = [saidBy(there), saidBy(rule)];
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    const outcome = isSame ? ("unchanged" as const) : after === undefined ? ("cleared" as const) : ("written" as const);
    const version = there?.version ?? 0;
    return { isStale: seenVersion !== undefined && seenVersion !== version, target, outcome, version, before, after };
  });
  const stale = found.filter(({ isStale }) => isStale);
  if (stale.length > 0) throw staleRules(stale.map(({ target, version }) => isIn(target, version)));
  const outdone = await findOutdone(sql, scope, changes, tools);
  return {
    scope: scope.scope,
    id: scope.scopeId,
    changes: found.map(({ isStale: _isStale, ...change }) => ({
      ...change,
      id: null,
      waiting: 0,
      outdone: outdone.get(keyOf(change.target)),
    })),
  };
}

/** Afterwards the scope says of each target what was asked, or nothing has changed: one wrong entry refuses all of them. */
export async function changeRules(
  sql: Queryable,
  actor: Actor,
  scope: PolicyScope,
  asked: Asked,
  tools: Tools,
): Promise<z.infer<typeof changedSchema>> {
  const changes = checkChanges(asked, scope, tools);
  const written = await readWrittenRules(sql, scope.scopeId);
  const isLoose = loosens(changes, written);
  await requirePolicyRight(sql, actor, scope, "Changing rules", isLoose);
  refuseEnded(scope);
  // Who may only tighten does so against what was read here, and not against what somebody else writes meanwhile.
  const mayLoosen = isLoose || hasRole(actor, "admin");
  const outdone = await findOutdone(sql, scope, changes, tools);
  const outcome = await setRules(
    sql,
    scope,
    authorOf(actor),
    mayLoosen ? changes : changes.map((change) => ({ ...change, seenVersion: seenOf(change, written) })),
  );
  switch (outcome.kind) {
    case "not_found":
      throw new Problem("not_found", `There is no ${scope.scope} ${scope.scopeId} in this workspace.`);
    case "stale":
      throw staleRules(outcome.targets.map(({ target, version }) => isIn(target, version)));
    case "set":
      return {
        scope: scope.scope,
        id: scope.scopeId,
        changes: outcome.changes.map(({ kind, id, ...change }) => ({
          outcome: kind,
          id: id ?? null,
          ...change,
          outdone: outdone.get(keyOf(change.target)),
        })),
      };
  }
}

function seenOf({ target, seenVersion }: RuleChange, written: readonly WrittenRule[]): number {
  return seenVersion ?? written.find((rule) => keyOf(rule.target) === keyOf(target))?.version ?? 0;
}

function checkChanges(asked: Asked, { scope }: PolicyScope, tools: Tools): RuleChange[] {
  const places = asked.flatMap(({ mode }, index) => (mode === null ? [] : [index]));
  const written = asked.flatMap(({ version: _version, mode, ...rule }) => (mode === null ? [] : [{ ...rule, mode }]));
  const keys = asked.map(({ target }) => keyOf(target));
  const twice = asked.findIndex(({ mode }, index) => {
    const first = keys.indexOf(keys[index] ?? "");
    return first !== index && (mode === null || asked[first]?.mode === null);
  });
  if (twice >= 0)
    throw refusedRules([{ path: `json.changes.${twice}.target`, message: "is named before; change it once" }]);
  const checked = checkRules(written, knownTools(tools), scope);
  if (checked.kind === "refused") {
    throw refusedRules(
      checked.problems.map(({ keys: [index, ...keys], problem }) => ({
        path: ["json.changes", places[Number(index)] ?? 0, ...keys].map(String).join("."),
        message: problem,
      })),
    );
  }
  let at = 0;
  return asked.map(({ target, mode, version }) => {
    const rule = mode === null ? undefined : checked.rules[at++];
    return { target, rule, covers: coversOf(target, tools), seenVersion: version };
  });
}

interface Apply {
  readonly isDryRun: boolean;
  /** The policy version of the scope that was seen; undefined writes over whatever is there. */
  readonly seenVersion: number | undefined;
}

/** What a document would make of a scope, and, unless it is a dry run, has made of it. */
export async function applyDocument(
  tx: Tx,
  actor: Actor,
  scope: PolicyScope,
  asked: Apply & { readonly text: string },
  tools: Tools,
): Promise<z.infer<typeof appliedDocumentSchema>> {
  const layer = readDocument(asked.text, scope, tools);
  return await applyLayer(tx, actor, scope, () => layer, asked, tools);
}

/** What a preset has made of a scope: its dial, its approval policy and its rules, all of them or nothing. What was locked stays locked. */
export async function applyPreset(
  tx: Tx,
  actor: Actor,
  scope: PolicyScope,
  asked: { readonly preset: PresetName; readonly seenVersion: number | undefined },
  tools: Tools,
): Promise<z.infer<typeof appliedDocumentSchema>> {
  const { dial, approvalPolicy } = presetOf(asked.preset);
  rulesOfPreset(asked.preset, scope.scope, tools);
  const toSay = (before: Layer, written: readonly WrittenRule[]): CheckedLayer => ({
    rules: rulesUnder(asked.preset, written),
    ...(dial === undefined ? {} : { dial: { ...dial, locked: before.dial?.locked === true } }),
    ...(approvalPolicy === undefined
      ? {}
      : { approvalPolicy: { ...approvalPolicy, locked: before.approvalPolicy?.locked === true } }),
  });
  return await applyLayer(tx, actor, scope, toSay, { ...asked, isDryRun: false }, tools);
}

/** The rules of a preset; refused where it speaks of a tool that nobody has here, and would let run what it is to ask before. */
export function rulesOfPreset(preset: PresetName, scope: LayerName, tools: Tools): readonly CheckedRule[] {
  const rules = (presetOf(preset).rules ?? []).map(({ target, mode, entries }) => ({
    target,
    mode,
    ...(entries === undefined ? {} : { entries }),
  }));
  const checked = checkRules(rules, knownTools(tools), scope);
  if (checked.kind === "rules") return checked.rules;
  const missing = checked.problems.flatMap(({ keys: [index] }) => {
    const target = rules[Number(index)]?.target;
    return target?.kind === "tool" ? [target.name] : [];
  });
  throw new Problem(
    "invalid_policy",
    `Nothing was changed. The preset ${preset} lets everything run but a few tools that it asks before, and these are not here: ${missing.join(", ")}. Set a dial and rules instead.`,
    { errors: [{ path: "json.preset", message: "asks before tools that are not here" }] },
  );
}

async function applyLayer(
  tx: Tx,
  actor: Actor,
  scope: PolicyScope,
  toSay: (before: Layer, written: readonly WrittenRule[]) => CheckedLayer,
  asked: Apply,
  tools: Tools,
): Promise<z.infer<typeof appliedDocumentSchema>> {
  await tx.unsafe("select lock_scope($1::text, $2::uuid, $3::uuid)", [
    scope.scope,
    scope.scopeId,
    scope.workspaceId ?? null,
  ]);
  const before = await readLayer(tx, scope);
  const written = await readWrittenRules(tx, scope.scopeId);
  const layer = toSay(before, written);
  const changes = changesTo(written, layer.rules, (target) => coversOf(target, tools));
  const values = changedValues(before, layer);
  const outdone = await findOutdone(tx, scope, changes, tools);
  const told = {
    scope: scope.scope,
    id: scope.scopeId,
    changes: [
      ...changes.map(({ target, rule }) => ({
        path: keyOf(target),
        before: saidBy(written.find((one) => keyOf(one.target) === keyOf(target))),
        after: saidBy(rule),
        outdone: outdone.get(keyOf(target)),
      })),
      ...("dial" in values ? [{ path: "dial", before: before.dial ?? undefined, after: layer.dial }] : []),
      ...("approvalPolicy" in values
        ? [{ path: "approvalPolicy", before: before.approvalPolicy ?? undefined, after: layer.approvalPolicy }]
        : []),
    ],
  };
  if (asked.isDryRun) return { ...told, isDryRun: true, version: before.version, waiting: 0 };
  await requirePolicyRight(tx, actor, scope, "Changing rules", loosens(changes, written, values));
  refuseEnded(scope);
  if (asked.seenVersion !== undefined && asked.seenVersion !== before.version) {
    throw stalePolicy(scope.scope, before.version, asked.seenVersion);
  }
  const set = await setRules(tx, scope, authorOf(actor), changes);
  const dialed = await setDial(tx, scope, authorOf(actor), values);
  const touched = [
    ...(set.kind === "set" ? set.changes.map(({ waiting }) => waiting) : []),
    ...(dialed.kind === "set" ? [dialed.waiting] : []),
  ];
  const { version } = await readLayer(tx, scope);
  return { ...told, isDryRun: false, version, waiting: Math.min(1_001, Math.max(0, ...touched)) };
}

/** Reads a document for a scope; refused with every problem and its line. */
export function readDocument(text: string, { scope }: PolicyScope, tools: Tools): CheckedLayer {
  const checked = readPolicyDocument(text, knownTools(tools), scope);
  if (checked.kind === "layer") return checked.layer;
  throw refusedRules(
    checked.problems.map(({ line, path, problem }) => ({ path: path === "" ? "json" : path, line, message: problem })),
  );
}

function changedValues(before: Awaited<ReturnType<typeof readLayer>>, layer: CheckedLayer): DialChange {
  const { dial = null, approvalPolicy = null } = layer;
  const isSameDial =
    before.dial?.level === dial?.level &&
    before.dial?.expiresAt?.getTime() === dial?.expiresAt?.getTime() &&
    (before.dial?.locked === true) === (dial?.locked === true);
  const isSamePolicy =
    before.approvalPolicy?.level === approvalPolicy?.level &&
    (before.approvalPolicy?.locked === true) === (approvalPolicy?.locked === true);
  return { ...(isSameDial ? {} : { dial }), ...(isSamePolicy ? {} : { approvalPolicy }) };
}

function saidBy(rule: RuleChange["rule"]): object | undefined {
  if (rule === undefined) return undefined;
  const { mode, entries, locked, expiresAt } = rule;
  return {
    mode,
    ...(entries === undefined ? {} : { entries }),
    ...(locked === true ? { locked } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Afterwards the scope's dial and approval policy are as asked. */
export async function changeDial(
  sql: Queryable,
  actor: Actor,
  scope: PolicyScope,
  asked: z.infer<typeof dialBody>,
  seenVersion: number | undefined,
): Promise<z.infer<typeof dialChangedSchema>> {
  const { dial, approvalPolicy } = asked;
  const change: DialChange = {
    ...(dial === undefined
      ? {}
      : {
          dial: dial && {
            level: dial.level,
            locked: dial.locked === true,
            expiresAt: dial.expiresAt === undefined ? undefined : new Date(dial.expiresAt),
          },
        }),
    ...(approvalPolicy === undefined
      ? {}
      : { approvalPolicy: approvalPolicy && { level: approvalPolicy.level, locked: approvalPolicy.locked === true } }),
    seenVersion,
  };
  await requirePolicyRight(sql, actor, scope, "Changing what runs unasked", loosens([], [], change));
  refuseEnded(scope);
  if (scope.scope !== "workspace" && (dial?.locked === true || approvalPolicy?.locked === true)) {
    throw new Problem("invalid_request", `Only a workspace and the app can lock; a ${scope.scope} cannot.`, {
      errors: [{ path: "json.dial.locked", message: "goes with the scope workspace alone" }],
    });
  }
  const outcome = await setDial(sql, scope, authorOf(actor), change);
  switch (outcome.kind) {
    case "not_found":
      throw new Problem("not_found", `There is no ${scope.scope} ${scope.scopeId} in this workspace.`);
    case "stale":
      throw stalePolicy(scope.scope, outcome.version, seenVersion);
    case "unchanged":
      return { scope: scope.scope, id: scope.scopeId, outcome: "unchanged", version: outcome.version, waiting: 0 };
    case "set":
      return {
        scope: scope.scope,
        id: scope.scopeId,
        outcome: "set",
        version: outcome.version,
        waiting: outcome.waiting,
      };
  }
}

function refuseEnded({ scope, scopeId, hasEnded }: PolicyScope): void {
  if (!hasEnded) return;
  throw new Problem("run_ended", `The ${scope} ${scopeId} has ended, so no policy of its own matters any more.`);
}

function isIn(target: RuleChange["target"], version: number): string {
  return `${keyOf(target)} is in version ${version}`;
}

/** That the policy of a scope is in another version than the one that was seen. */
export function stalePolicy(scope: LayerName, version: number, seenVersion: number | undefined): Problem {
  return staleRules([`the policy of this ${scope} is in version ${version}, not ${seenVersion}`]);
}

function staleRules(found: readonly string[]): Problem {
  return new Problem(
    "stale",
    `Somebody changed these rules since you saw them: ${found.join("; ")}. Nothing was changed; look again.`,
  );
}

function refusedRules(
  errors: readonly { readonly path: string; readonly line?: number; readonly message: string }[],
): Problem {
  const [first] = errors;
  const at = first?.line === undefined ? first?.path : `line ${first.line}, ${first.path}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem(
    "invalid_policy",
    `Nothing was changed: the rules stand as they were. ${at}: ${first?.message}${more}`,
    {
      errors,
    },
  );
}
