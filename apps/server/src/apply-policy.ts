import type { Tx } from "@countersign/db/connect.ts";
import { type DialChange, setDial } from "@countersign/engine/commits/set-dial.ts";
import { setRules } from "@countersign/engine/commits/set-rules.ts";
import { changesTo, coversOf, keyOf } from "@countersign/engine/rule-changes.ts";
import { readWrittenRules, type WrittenRule } from "@countersign/engine/read-rules.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { type CheckedRule, checkRules } from "@countersign/gate/check-rules.ts";
import { type CheckedLayer, readPolicyDocument } from "@countersign/gate/policy-document.ts";
import { type PresetName, presetOf, rulesUnder } from "@countersign/gate/presets.ts";
import type { LayerName } from "@countersign/gate/rule.ts";
import type { z } from "@hono/zod-openapi";
import type { Actor } from "./auth.ts";
import { loosens } from "./loosens.ts";
import { findOutdone } from "./outdone-rules.ts";
import { refuseEnded, refusedRules, stalePolicy } from "./policy-problems.ts";
import { authorOf, type PolicyScope, requirePolicyRight } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import { readLayer } from "./queries/rules.ts";
import { knownTools, saidBy } from "./said-rules.ts";
import type { appliedDocumentSchema, Layer } from "./shapes/rules.ts";

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

/** Reads a document for a scope; refused with every problem and its line, after `opening`. */
export function readDocument(text: string, { scope }: PolicyScope, tools: Tools, opening?: string): CheckedLayer {
  const checked = readPolicyDocument(text, knownTools(tools), scope);
  if (checked.kind === "layer") return checked.layer;
  throw refusedRules(
    checked.problems.map(({ line, path, problem }) => ({ path: path === "" ? "json" : path, line, message: problem })),
    opening,
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
