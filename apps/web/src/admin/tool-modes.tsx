import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { ModeControl, type SetMode } from "../parts/mode-control.tsx";
import { RowActs } from "../parts/row-acts.tsx";
import { Failure, Refusal, Waiting } from "../parts/states.tsx";
import { useAct } from "../parts/use-act.ts";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import type { Rule } from "./rule-draft.ts";
import "./admin.css";

/** A place in which tools can be set. */
export type ToolScope = { readonly scope: "workspace" } | { readonly scope: "definition" | "run"; readonly id: string };

interface Change {
  readonly kind: "tools" | "families" | "servers";
  readonly name: string;
  readonly mode: SetMode;
}

const names = words.admin.rules;

/** Each tool, family and server with its control: what this scope says itself, and what holds and why where it says nothing. */
export function ToolModes({ scope }: { readonly scope: ToolScope }) {
  const me = useMe();
  const { data, error, refetch } = useQuery({
    queryKey: ["rules", "tools", scope],
    queryFn: () => ask(api.policy.tools.$get({ query: scope })),
  });
  const layer = useQuery({ queryKey: ["rules", scope], queryFn: () => ask(api.rules.$get({ query: scope })) });
  const set = useAct("rules", ({ kind, name, mode }: Change) =>
    ask(
      api.policy.tools.$patch({
        query: scope,
        header: data === undefined ? {} : { "if-match": `"${data.version}"` },
        json: { [kind]: { [name]: mode } },
      }),
    ),
  );
  if (data === undefined)
    return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;

  const mayChange = me.data?.mayDecide === true && (scope.scope !== "workspace" || me.data.role === "admin");
  const groups = [
    ...grouped("families", "family", [...new Set(data.tools.flatMap((tool) => tool.family ?? []))]),
    ...grouped("servers", "server", [...new Set(data.tools.flatMap((tool) => tool.server ?? []))]),
  ];
  const ownOf = (target: string, name: string): Rule | undefined =>
    layer.data?.rules.find(
      (rule) => !rule.isRemembered && rule.target.kind === target && "name" in rule.target && rule.target.name === name,
    );
  const hasOwn =
    scope.scope === "run" && (data.tools.some((tool) => tool.own !== null) || layer.data?.rules.length !== 0);
  const control = (kind: Change["kind"], name: string, label: string, own: Rule | undefined) => (
    <RowActs>
      <ModeControl
        name={label}
        value={own?.mode ?? null}
        isDisabled={set.isPending || !mayChange || layer.data === undefined || saysMore(own)}
        onChange={(mode) => set.mutate({ kind, name, mode })}
      />
    </RowActs>
  );
  return (
    <>
      <Refusal error={set.error} />
      {layer.data !== undefined && hasOwn && (
        <p className="told-once" role="status">
          {words.runs.ownTools}
        </p>
      )}
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{names.tool}</th>
            <th scope="col">{names.holds}</th>
            <th scope="col">
              <span className="unseen">{names.set}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ kind, target, name }) => (
            <tr key={`${kind} ${name}`}>
              <td>
                {names.groups[kind]}{" "}
                <code>
                  <ExactLine text={name} />
                </code>
              </td>
              <td className="fine">{saysMore(ownOf(target, name)) ? names.ownRule : "–"}</td>
              {control(kind, name, `${names.groups[kind]} ${name}`, ownOf(target, name))}
            </tr>
          ))}
          {data.tools.map(({ name, effective, isKilled }) => (
            <tr key={name}>
              <td>
                <code>
                  <ExactLine text={name} />
                </code>
              </td>
              <td className="fine">
                {isKilled
                  ? names.killed
                  : saysMore(ownOf("tool", name))
                    ? names.ownRule
                    : effective === null
                      ? names.byDial
                      : names.modeFrom(effective.mode, effective.layer)}
              </td>
              {control("tools", name, name, ownOf("tool", name))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Than a mode, which is all that the control shows and sets. */
function saysMore(own: Rule | undefined): boolean {
  return own !== undefined && (own.entries !== null || own.locked || own.expiresAt !== null);
}

function grouped<K extends "families" | "servers">(kind: K, target: string, all: readonly string[]) {
  return all.map((name) => ({ kind, target, name }));
}
