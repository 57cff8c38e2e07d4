import type { Queryable } from "@countersign/db/connect.ts";
import { type RuleChange, setRules } from "@countersign/engine/commits/set-rules.ts";
import { coversOf, keyOf } from "@countersign/engine/rule-changes.ts";
import { readWrittenRules, type WrittenRule } from "@countersign/engine/read-rules.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { checkRules } from "@countersign/gate/check-rules.ts";
import type { z } from "@hono/zod-openapi";
import { type Actor, hasRole } from "./auth.ts";
import { loosens } from "./loosens.ts";
import { findOutdone } from "./outdone-rules.ts";
import { refusedRules, refuseEnded, staleTargets } from "./policy-problems.ts";
import { authorOf, type PolicyScope, requirePolicyRight } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import { knownTools, saidBy } from "./said-rules.ts";
import type { changedSchema, changesBody } from "./shapes/rules.ts";

type Asked = z.infer<typeof changesBody>["changes"];

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
    const isStale = seenVersion !== undefined && seenVersion !== version;
    const isLoosening = !isSame && loosens([{ target, rule }], written);
    return { isStale, target, outcome, version, before, after, isLoosening };
  });
  const stale = found.filter(({ isStale }) => isStale);
  if (stale.length > 0) throw staleTargets(stale);
  const outdone = await findOutdone(sql, scope, changes, tools);
  const waiting = await countWaiting(sql, scope, changes);
  return {
    scope: scope.scope,
    id: scope.scopeId,
    changes: found.map(({ isStale: _isStale, ...change }, index) => ({
      ...change,
      id: null,
      waiting: change.outcome === "unchanged" ? 0 : (waiting[index] ?? 0),
      outdone: outdone.get(keyOf(change.target)),
    })),
  };
}

/** How many open approvals each change touches, 1,001 for more than 1,000. */
async function countWaiting(
  sql: Queryable,
  { scope, scopeId, workspaceId }: PolicyScope,
  changes: readonly RuleChange[],
): Promise<number[]> {
  const covers = changes.map((change) => change.covers?.join(",") ?? null);
  const rows = await sql.unsafe<{ waiting: number }[]>(
    `select count_waiting($1::text, $2::uuid, $3::uuid, n.covers) as waiting
       from unnest($4::text[]) with ordinality n (covers, at) order by n.at`,
    [scope, scopeId, workspaceId ?? null, covers],
    { prepare: true },
  );
  return rows.map(({ waiting }) => waiting);
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
      throw staleTargets(outcome.targets);
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
