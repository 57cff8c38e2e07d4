import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { useDefinitions, useMe } from "../queries.ts";
import { words } from "../words.ts";
import { Explain } from "./explain.tsx";
import { ChoiceField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { Simulate } from "./simulate.tsx";
import { StoredRules } from "./stored-rules.tsx";
import { ToolModes } from "./tool-modes.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.rules;

/** What a scope says of tools, and what that comes to. */
export function Rules() {
  const definitions = useDefinitions();
  const [definitionId, setDefinitionId] = useState("");
  const scope =
    definitionId === "" ? ({ scope: "workspace" } as const) : ({ scope: "definition", id: definitionId } as const);
  const query = useQuery({ queryKey: ["rules", scope], queryFn: () => ask(api.rules.$get({ query: scope })) });
  const me = useMe();
  const mayChange = me.data?.mayDecide === true && (definitionId !== "" || me.data.role === "admin");
  const setDial = useAct("rules", (json: Parameters<typeof api.policy.dial.$patch>[0]["json"]) =>
    ask(api.policy.dial.$patch({ query: scope, header: {}, json })),
  );
  const agents = Object.fromEntries((definitions.data?.definitions ?? []).map(({ id, name }) => [id, name]));
  const failed = setDial.error;

  return (
    <>
      <Section title={words.admin.sections.rules} lead={names.lead} query={query}>
        {(layer) => (
          <>
            <div className="inline-fields">
              <ChoiceField
                label={names.scope}
                value={definitionId}
                choices={{ "": names.workspace, ...agents }}
                onChange={setDefinitionId}
              />
              <ChoiceField
                label={names.dial}
                value={layer.dial?.level ?? ""}
                choices={names.dials}
                isDisabled={!mayChange}
                onChange={(level) => setDial.mutate({ dial: level === "" ? null : { level } })}
              />
              <ChoiceField
                label={names.policy}
                value={layer.approvalPolicy?.level ?? ""}
                choices={names.policies}
                isDisabled={!mayChange}
                onChange={(level) => setDial.mutate({ approvalPolicy: level === "" ? null : { level } })}
              />
            </div>
            {failed !== null && (
              <p className="refused" role="alert">
                {failed.message}
              </p>
            )}
            <section className="admin-part">
              <h2>{names.tools}</h2>
              <ToolModes scope={scope} />
            </section>
            <StoredRules scope={scope} rules={layer.rules} mayChange={mayChange} />
          </>
        )}
      </Section>
      {query.data !== undefined && (
        <>
          <Explain scope={scope} />
          <Simulate scope={scope} />
        </>
      )}
    </>
  );
}
