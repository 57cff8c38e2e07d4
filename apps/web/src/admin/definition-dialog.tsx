import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import { Form, TextField } from "../parts/fields.tsx";
import { parseObject } from "../parts/parse-json.ts";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.definitions;

interface Current {
  readonly id: string;
  readonly version: number;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A definition as JSON: first what would change, then the version. On an older version than the current it is refused. */
export function DefinitionDialog({
  current: given,
  onClose,
}: {
  readonly current: Current | undefined;
  readonly onClose: () => void;
}) {
  // As it was opened: the text stands on that version, whatever is read of others meanwhile.
  const [current] = useState(given);
  const [text, setText] = useState(() => JSON.stringify(current?.spec ?? blank, undefined, 2));
  const spec = parseObject(text);
  const send = async (dryRun: "true" | "false") => {
    const json = { spec: spec ?? {} };
    return current === undefined
      ? await ask(api.definitions.$post({ header: {}, query: { dryRun }, json }))
      : await ask(
          api.definitions[":id"].versions.$post({
            param: { id: current.id },
            header: { "if-match": `"${current.version}"` },
            query: { dryRun },
            json,
          }),
        );
  };
  const look = useAct("definitions", () => send("true"));
  const save = useAct("definitions", () => send("false"), onClose);
  return (
    <Dialog title={current === undefined ? names.new : names.edit} onClose={onClose}>
      <Form
        submit={names.save}
        isBusy={save.isPending || spec === undefined}
        error={save.error ?? look.error}
        onSubmit={() => save.mutate(undefined)}
        onCancel={onClose}
      >
        <TextField
          label={names.spec}
          value={text}
          onChange={(next) => {
            setText(next);
            // What was shown was of another text.
            look.reset();
            save.reset();
          }}
          rows={18}
          isCode
          hint={spec === undefined ? words.card.notJson : undefined}
        />
        <button type="button" disabled={spec === undefined || look.isPending} onClick={() => look.mutate(undefined)}>
          {names.look}
        </button>
        {look.data !== undefined && (
          <div role="status">
            {look.data.changes.length === 0 && <p>{names.unchanged}</p>}
            <ul className="lines code">
              {look.data.changes.map((change) => (
                <li key={change.path}>
                  <ExactLine text={`${change.path}: ${shown(change.before)} → ${shown(change.after)}`} />
                </li>
              ))}
            </ul>
            {look.data.warnings.map((warning) => (
              <p key={warning} className="refused">
                <ExactLine text={warning} />
              </p>
            ))}
          </div>
        )}
      </Form>
    </Dialog>
  );
}

const blank = { name: "", model: "", instructions: "", toolset: [] };

const shown = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value));
