import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { api, ask } from "../api.ts";
import { useDefinitions, useMe } from "../queries.ts";
import { words } from "../words.ts";
import { DialDialog } from "./dial-dialog.tsx";
import { Explain } from "./explain.tsx";
import { ChoiceField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { Simulate } from "./simulate.tsx";
import { StoredRules } from "./stored-rules.tsx";
import { ToolModes } from "./tool-modes.tsx";
import { Time } from "../parts/time.tsx";

const names = words.admin.rules;

/** What a scope says of tools, and what that comes to. */
export function Rules() {
  const definitions = useDefinitions();
  const [search, setSearch] = useSearchParams();
  const definitionId = search.get("agent") ?? "";
  const scope =
    definitionId === "" ? ({ scope: "workspace" } as const) : ({ scope: "definition", id: definitionId } as const);
  const query = useQuery({ queryKey: ["rules", scope], queryFn: () => ask(api.rules.$get({ query: scope })) });
  const me = useMe();
  const mayChange = me.data?.mayDecide === true && (definitionId !== "" || me.data.role === "admin");
  const agents = Object.fromEntries((definitions.data?.definitions ?? []).map(({ id, name }) => [id, name]));
  /** The scope whose dial is being set. */
  const [dialed, setDialed] = useState<string>();

  return (
    <>
      <Section
        title={words.admin.sections.rules}
        lead={names.lead}
        query={query}
        choice={
          <ChoiceField
            label={names.scope}
            value={definitionId}
            choices={{ "": names.workspace, ...agents }}
            onChange={(agent) => setSearch(agent === "" ? {} : { agent })}
          />
        }
      >
        {(layer) => (
          <>
            <div className="dials">
              <dl className="facts">
                <div>
                  <dt>{names.dial}</dt>
                  <dd>
                    {names.dials[layer.dial?.level ?? ""]}
                    {layer.dial?.locked === true && ` · ${names.isLocked}`}
                    {layer.dial?.expiresAt != null && (
                      <>
                        {` · ${names.until} `}
                        <Time at={layer.dial.expiresAt} />
                      </>
                    )}
                  </dd>
                </div>
                <div>
                  <dt>{names.policy}</dt>
                  <dd>
                    {names.policies[layer.approvalPolicy?.level ?? ""]}
                    {layer.approvalPolicy?.locked === true && ` · ${names.isLocked}`}
                  </dd>
                </div>
              </dl>
              {mayChange && (
                <button type="button" onClick={() => setDialed(definitionId)}>
                  {names.change}
                  <span className="unseen"> {names.dialTitle}</span>
                </button>
              )}
            </div>
            {dialed === definitionId && <DialDialog scope={scope} layer={layer} onClose={() => setDialed(undefined)} />}
            <section className="admin-part">
              <h2>{names.tools}</h2>
              <ToolModes key={definitionId} scope={scope} />
            </section>
            <StoredRules key={definitionId} scope={scope} rules={layer.rules} mayChange={mayChange} />
          </>
        )}
      </Section>
      {query.data !== undefined && (
        <>
          <Explain key={`explain ${definitionId}`} scope={scope} />
          <Simulate key={`simulate ${definitionId}`} scope={scope} />
        </>
      )}
    </>
  );
}
