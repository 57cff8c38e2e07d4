import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Diff } from "../card/diff.tsx";
import { diffLines } from "../parts/diff-lines.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine, ExactText } from "../parts/exact-text.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useDefinitions, useMe } from "../queries.ts";
import { words } from "../words.ts";
import { DefinitionDialog } from "./definition-dialog.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { Section } from "./section.tsx";

const names = words.admin.definitions;

/** The agents, each with its versions. */
export function Definitions() {
  const query = useDefinitions();
  const me = useMe();
  const [editing, setEditing] = useState<string>();
  const [shown, setShown] = useState<string>();
  const mayChange = me.data?.role === "admin";
  return (
    <Section
      title={words.admin.sections.definitions}
      lead={names.lead}
      query={query}
      action={
        mayChange && (
          <button type="button" className="primary" onClick={() => setEditing("new")}>
            {names.new}
          </button>
        )
      }
    >
      {({ definitions }) => (
        <>
          {definitions.length === 0 && <Empty title={words.admin.none} />}
          <table className="table">
            <tbody>
              {definitions.map((definition) => (
                <tr key={definition.id}>
                  <td>
                    <ExactLine text={definition.name} />
                  </td>
                  <td className="fine">
                    {names.version(definition.version)} <Time at={definition.createdAt} />
                  </td>
                  <RowActs>
                    <RowAct of={definition.name} onPress={() => setShown(definition.id)}>
                      {names.history}
                    </RowAct>
                    {mayChange && (
                      <RowAct of={definition.name} onPress={() => setEditing(definition.id)}>
                        {names.edit}
                      </RowAct>
                    )}
                  </RowActs>
                </tr>
              ))}
            </tbody>
          </table>
          {editing !== undefined && (
            <DefinitionDialog
              current={definitions.find((definition) => definition.id === editing)}
              onClose={() => setEditing(undefined)}
            />
          )}
          {shown !== undefined && <History id={shown} onClose={() => setShown(undefined)} />}
        </>
      )}
    </Section>
  );
}

function History({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data } = useQuery({
    queryKey: ["definitions", id, "versions"],
    queryFn: () => ask(api.definitions[":id"].versions.$get({ param: { id }, query: {} })),
  });
  return (
    <Dialog title={names.history} onClose={onClose}>
      <ul className="lines">
        {data?.versions.map((version, n) => {
          const before = data.versions[n + 1];
          return (
            <li key={version.version}>
              <p>
                {names.version(version.version)} <Time at={version.createdAt} />{" "}
                {version.createdBy !== null && <ExactLine text={names.by(version.createdBy.name)} />}
              </p>
              {before !== undefined && (
                <Diff
                  text={diffLines(textOf(before.spec), textOf(version.spec))}
                  label={names.against(before.version)}
                />
              )}
              <details className="say-more">
                <summary>{names.whole}</summary>
                <ExactText text={textOf(version.spec)} />
              </details>
            </li>
          );
        })}
      </ul>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {words.keys.close}
        </button>
      </div>
    </Dialog>
  );
}

const textOf = (spec: unknown): string => JSON.stringify(spec, undefined, 2);
