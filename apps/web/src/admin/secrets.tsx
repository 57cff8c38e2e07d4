import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { readAll } from "../queries.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import { Form, TextField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.secrets;

/** Secrets by name: set, set anew and taken away; their values are never here. */
export function Secrets() {
  const query = useQuery({
    queryKey: ["secrets"],
    queryFn: async () => {
      const pages = await readAll((asked) => ask(api.secrets.$get({ query: asked })));
      return { secrets: pages.flatMap((page) => page.secrets) };
    },
  });
  const [setting, setSetting] = useState<{ readonly name: string; readonly capability: string }>();
  const [removing, setRemoving] = useState<string>();
  return (
    <Section
      title={words.admin.sections.secrets}
      lead={names.lead}
      query={query}
      action={
        <button type="button" className="primary" onClick={() => setSetting({ name: "", capability: "" })}>
          {names.set}
        </button>
      }
    >
      {({ secrets }) => (
        <>
          {secrets.length === 0 && <Empty title={words.admin.none} />}
          <table className="table">
            <tbody>
              {secrets.map(({ id, name, capability, version, setAt }) => (
                <tr key={id}>
                  <td>
                    <ExactLine text={name} />
                  </td>
                  <td>
                    <code>
                      <ExactLine text={capability} />
                    </code>
                  </td>
                  <td>
                    v{version}, {names.at} <Time at={setAt} />
                  </td>
                  <RowActs>
                    <RowAct of={name} onPress={() => setSetting({ name, capability })}>
                      {names.again}
                    </RowAct>
                    <RowAct of={name} isDangerous onPress={() => setRemoving(name)}>
                      {words.admin.remove}
                    </RowAct>
                  </RowActs>
                </tr>
              ))}
            </tbody>
          </table>
          {setting !== undefined && <SetDialog given={setting} onClose={() => setSetting(undefined)} />}
          {removing !== undefined && <RemoveDialog name={removing} onClose={() => setRemoving(undefined)} />}
        </>
      )}
    </Section>
  );
}

function SetDialog({
  given,
  onClose,
}: {
  readonly given: { readonly name: string; readonly capability: string };
  readonly onClose: () => void;
}) {
  const [name, setName] = useState(given.name);
  const [capability, setCapability] = useState(given.capability);
  const [value, setValue] = useState("");
  const set = useAct(
    "secrets",
    () => ask(api.secrets[":name"].$put({ param: { name }, json: { capability, value } })),
    onClose,
  );
  return (
    <Dialog title={names.set} onClose={onClose}>
      <Form
        submit={words.admin.save}
        isBusy={set.isPending}
        error={set.error}
        onSubmit={() => set.mutate(undefined)}
        onCancel={onClose}
      >
        <TextField label={names.name} value={name} onChange={setName} isRequired />
        <TextField label={names.capability} value={capability} onChange={setCapability} isRequired isCode />
        <TextField label={names.value} value={value} onChange={setValue} type="password" isRequired />
      </Form>
    </Dialog>
  );
}

function RemoveDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const remove = useAct("secrets", () => ask(api.secrets[":name"].$delete({ param: { name } })), onClose);
  return (
    <Dialog title={words.admin.remove} onClose={onClose}>
      <Form
        submit={words.admin.yes}
        isDangerous
        isBusy={remove.isPending}
        error={remove.error}
        onSubmit={() => remove.mutate(undefined)}
        onCancel={onClose}
      >
        <p>
          <ExactLine text={names.removeLead(name)} />
        </p>
      </Form>
    </Dialog>
  );
}
