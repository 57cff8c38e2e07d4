import { useState } from "react";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";
import { RuleDialog } from "./rule-dialog.tsx";
import { entryText, type Rule } from "./rule-draft.ts";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;

/** The rules a scope has of its own: written by people, or left behind by their decisions. */
export function StoredRules({
  scope,
  rules,
  mayChange,
}: {
  readonly scope: ToolScope;
  readonly rules: readonly Rule[];
  readonly mayChange: boolean;
}) {
  const [writing, setWriting] = useState<Rule | "new">();
  const revoke = useAct("rules", (rule: Rule) =>
    ask(api.rules[":id"].$delete({ param: { id: rule.id }, header: { "if-match": `"${rule.version}"` } })),
  );
  return (
    <section className="admin-part">
      <div className="page-head">
        <h2>{names.stored}</h2>
        {mayChange && (
          <button type="button" onClick={() => setWriting("new")}>
            {names.new}
          </button>
        )}
      </div>
      <Refusal error={revoke.error} />
      {rules.length === 0 && <p className="fine">{words.admin.none}</p>}
      <table className="table">
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.id}>
              <td>
                <code>
                  <ExactLine text={targetText(rule)} />
                </code>
              </td>
              <td>
                {names.allModes[rule.mode]}
                {rule.locked && <span className="fine"> · {names.isLocked}</span>}
              </td>
              <td className="fine">
                <ExactLine text={rule.entries === null ? names.whole : rule.entries.map(entryText).join(", ")} />
              </td>
              <td className="fine">
                {rule.isRemembered && names.remembered} <Time at={rule.updatedAt} />
                {rule.expiresAt !== null && (
                  <>
                    , {names.until} <Time at={rule.expiresAt} />
                  </>
                )}
              </td>
              {mayChange && (
                <RowActs>
                  {!rule.isRemembered && (
                    <RowAct of={targetText(rule)} onPress={() => setWriting(rule)}>
                      {names.change}
                    </RowAct>
                  )}
                  <RowAct
                    of={targetText(rule)}
                    isDangerous
                    isDisabled={revoke.isPending}
                    onPress={() => revoke.mutate(rule)}
                  >
                    {names.revoke}
                  </RowAct>
                </RowActs>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {writing !== undefined && (
        <RuleDialog
          scope={scope}
          given={writing === "new" ? undefined : writing}
          onClose={() => setWriting(undefined)}
        />
      )}
    </section>
  );
}

function targetText({ target }: Rule): string {
  return "name" in target ? `${target.kind} ${target.name}` : target.kind;
}
