import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useDefinitions, useMe } from "../queries.ts";
import { Refusal } from "../parts/states.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.kill;
type Scope = keyof typeof names.scopes;

/** The switches that hold everything in a scope. */
export function Kill() {
  const me = useMe();
  const definitions = useDefinitions();
  const [scope, setScope] = useState<Scope>("workspace");
  const [which, setWhich] = useState("");
  const [reason, setReason] = useState("");
  const [isAsking, setAsking] = useState(false);
  const [said, setSaid] = useState("");
  const isNamed = scope === "tool" || scope === "server";
  const target = { scope, ...(scope === "workspace" ? {} : isNamed ? { name: which } : { id: which }) };
  const onDone = (done: { readonly outcome: string }): void => {
    setAsking(false);
    setSaid(names.done[done.outcome] ?? done.outcome);
  };
  const kill = useAct("runs", () => ask(api.kill.$post({ json: { ...target, reason } })), onDone);
  const lift = useAct("runs", () => ask(api.lift.$post({ json: target })), onDone);
  const agents = Object.fromEntries((definitions.data?.definitions ?? []).map(({ id, name }) => [id, name]));

  return (
    <Section title={words.admin.sections.kill} lead={names.lead} query={me}>
      {({ role }) =>
        role !== "admin" ? (
          <p className="state">{words.admin.notYours}</p>
        ) : (
          <>
            <div className="fields">
              <ChoiceField
                label={names.scope}
                value={scope}
                choices={names.scopes}
                onChange={(next) => {
                  setScope(next);
                  setWhich("");
                }}
              />
              {scope === "definition" && (
                <ChoiceField label={names.which} value={which} choices={{ "": "…", ...agents }} onChange={setWhich} />
              )}
              {(scope === "run" || isNamed) && (
                <TextField label={names.which} value={which} onChange={setWhich} isCode isRequired />
              )}
              <TextField label={names.reason} value={reason} onChange={setReason} isRequired />
              <div className="buttons">
                <button
                  type="button"
                  className="danger"
                  disabled={reason.trim() === "" || (scope !== "workspace" && which === "")}
                  onClick={() => setAsking(true)}
                >
                  {names.kill}
                </button>
                <button
                  type="button"
                  disabled={lift.isPending || (scope !== "workspace" && which === "")}
                  onClick={() => lift.mutate(undefined)}
                >
                  {names.lift}
                </button>
              </div>
              <Refusal error={lift.error} />
              <p role="status">{said}</p>
            </div>
            {isAsking && (
              <Dialog title={words.admin.sections.kill} onClose={() => setAsking(false)}>
                <Form
                  submit={names.kill}
                  isDangerous
                  isBusy={kill.isPending}
                  error={kill.error}
                  onSubmit={() => kill.mutate(undefined)}
                  onCancel={() => setAsking(false)}
                >
                  <p>
                    <ExactLine
                      text={names.confirm([names.scopes[scope], agents[which] ?? which].filter(Boolean).join(": "))}
                    />
                  </p>
                </Form>
              </Dialog>
            )}
          </>
        )
      }
    </Section>
  );
}
