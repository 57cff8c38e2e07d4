import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ChoiceField } from "../parts/fields.tsx";
import { visibleText } from "../parts/visible.ts";
import { Failure, Refusal, Waiting } from "../parts/states.tsx";
import { useDefinitions, useMe } from "../queries.ts";
import { words } from "../words.ts";

/** Starts a run of an agent on something, and goes to it. Sending it twice starts it once. */
export function StartDialog({ onClose }: { readonly onClose: () => void }) {
  const [, goTo] = useLocation();
  const definitions = useDefinitions();
  const [definition, setDefinition] = useState("");
  const [input, setInput] = useState("");
  const [level, setLevel] = useState<keyof typeof words.admin.rules.dials>("");
  const me = useMe();
  const names = definitions.data?.definitions.map((one) => one.name);
  const chosen = definition || names?.[0] || "";
  const start = useMutation({
    mutationFn: () => {
      const json = { definition: chosen, input, ...(level === "" ? {} : { dial: { level } }) };
      return ask(api.runs.$post({ header: {}, json }));
    },
    onSuccess: (run) => goTo(`/runs/${run.id}`),
  });

  return (
    <Dialog title={words.runs.startTitle} onClose={onClose}>
      {names === undefined ? (
        definitions.error === null ? (
          <Waiting />
        ) : (
          <Failure error={definitions.error} />
        )
      ) : (
        <form
          className="fields"
          onSubmit={(event) => {
            event.preventDefault();
            start.mutate();
          }}
        >
          <label className="field">
            <span className="label">{words.runs.definition}</span>
            <select value={chosen} onChange={(event) => setDefinition(event.target.value)}>
              {names.map((name) => (
                <option key={name} value={name}>
                  {visibleText(name)}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span className="label">{words.runs.input}</span>
            <textarea
              rows={5}
              required
              maxLength={100_000}
              value={input}
              onChange={(event) => setInput(event.target.value)}
            />
          </label>
          {me.data?.mayDecide === true && (
            <ChoiceField label={words.runs.dial} value={level} choices={words.admin.rules.dials} onChange={setLevel} />
          )}
          <Refusal error={start.error} />
          <div className="buttons">
            <button type="submit" className="primary" disabled={start.isPending || input.trim() === ""}>
              {words.runs.startButton}
            </button>
            <button type="button" onClick={onClose}>
              {words.card.cancel}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
