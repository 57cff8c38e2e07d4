import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type KillSwitch } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ThrownBy } from "../parts/thrown-by.tsx";
import { useDefinitions } from "../queries.ts";
import { Refusal } from "../parts/states.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { Section } from "./section.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.kill;
type Scope = KillSwitch["scope"];

/** The switches that hold everything in a scope: those that are on, for everybody; for administrators, to throw and to lift. */
export function Kill() {
  const query = useQuery({ queryKey: ["kill"], queryFn: () => ask(api.kill.$get()) });
  const [said, setSaid] = useState("");
  const tell = ({ outcome }: { readonly outcome: string }): void => setSaid(names.done[outcome] ?? outcome);
  const lift = useAct("kill", (one: KillSwitch) => ask(api.lift.$post({ json: targetOf(one) })), tell);

  return (
    <Section title={words.admin.sections.kill} lead={names.lead} query={query}>
      {({ switches, scopes }) => (
        <>
          {switches.length === 0 ? (
            <p className="state">{names.none}</p>
          ) : (
            <Switches
              switches={switches}
              onLift={(one) => (scopes.includes(one.scope) ? () => lift.mutate(one) : undefined)}
              isBusy={lift.isPending}
            />
          )}
          <Refusal error={lift.error} />
          <p role="status">{said}</p>
          {scopes.length > 0 && <Hold scopes={scopes} onDone={tell} />}
        </>
      )}
    </Section>
  );
}

interface SwitchesProps {
  readonly switches: readonly KillSwitch[];
  /** What lifts it; undefined where that is not this person's. */
  readonly onLift: (one: KillSwitch) => (() => void) | undefined;
  readonly isBusy: boolean;
}

function Switches({ switches, onLift, isBusy }: SwitchesProps) {
  return (
    <table className="table">
      <caption className="unseen">{names.on}</caption>
      <thead>
        <tr>
          <th scope="col">{names.columns.what}</th>
          <th scope="col">{names.columns.why}</th>
          <th scope="col">
            <span className="unseen">{names.lift}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {switches.map((one) => {
          const act = onLift(one);
          const what = nameOf(one);
          return (
            <tr key={`${one.scope} ${one.id} ${one.name}`}>
              <td>
                <ExactLine text={what} />
              </td>
              <td>
                <ThrownBy {...one} />
              </td>
              <RowActs>
                {act !== undefined && (
                  <RowAct of={what} isDisabled={isBusy} onPress={act}>
                    {names.lift}
                  </RowAct>
                )}
              </RowActs>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface HoldProps {
  readonly scopes: readonly Scope[];
  readonly onDone: (done: { readonly outcome: string }) => void;
}

function Hold({ scopes, onDone }: HoldProps) {
  const definitions = useDefinitions();
  const [scope, setScope] = useState<Scope>("workspace");
  const [which, setWhich] = useState("");
  const [reason, setReason] = useState("");
  const [isAsking, setAsking] = useState(false);
  const kill = useAct(
    "kill",
    () => ask(api.kill.$post({ json: { ...targetOf({ scope, id: which, name: which }), reason } })),
    (done) => {
      setAsking(false);
      setReason("");
      onDone(done);
    },
  );
  const agents = Object.fromEntries((definitions.data?.definitions ?? []).map(({ id, name }) => [id, name]));
  const choices = Object.fromEntries(Object.entries(names.scopes).filter(([name]) => scopes.includes(name as Scope)));

  return (
    <>
      <div className="fields">
        <ChoiceField<string>
          label={names.scope}
          value={scope}
          choices={choices}
          onChange={(next) => {
            setScope(next as Scope);
            setWhich("");
          }}
        />
        {scope === "definition" && (
          <ChoiceField label={names.which} value={which} choices={{ "": "…", ...agents }} onChange={setWhich} />
        )}
        {!isWhole(scope) && scope !== "definition" && (
          <TextField label={names.which} value={which} onChange={setWhich} isCode isRequired />
        )}
        <TextField label={names.reason} value={reason} onChange={setReason} isRequired />
        <div className="buttons">
          <button
            type="button"
            className="danger"
            disabled={reason.trim() === "" || (!isWhole(scope) && which === "")}
            onClick={() => setAsking(true)}
          >
            {names.kill}
          </button>
        </div>
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
              <ExactLine text={names.confirm(nameOf({ scope, name: agents[which] ?? which }))} />
            </p>
          </Form>
        </Dialog>
      )}
    </>
  );
}

function isWhole(scope: Scope): scope is "app" | "workspace" {
  return scope === "app" || scope === "workspace";
}

function nameOf({ scope, name }: Pick<KillSwitch, "scope" | "name">): string {
  return isWhole(scope) ? names.scopes[scope] : `${names.named[scope]}: ${name}`;
}

/** What a request about a switch names. */
function targetOf({ scope, id, name }: Pick<KillSwitch, "scope" | "id" | "name">) {
  if (isWhole(scope)) return { scope };
  return scope === "tool" || scope === "server" ? { scope, name: name ?? "" } : { scope, id: id ?? "" };
}
