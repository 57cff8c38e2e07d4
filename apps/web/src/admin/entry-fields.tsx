import { useRef } from "react";
import { ChoiceField, TextField } from "../parts/fields.tsx";
import { words } from "../words.ts";
import type { DraftEntry } from "./rule-draft.ts";

const names = words.admin.rules;

interface Props {
  readonly entries: readonly DraftEntry[];
  /** What the server found wrong with a row. */
  readonly problemOf: (entry: DraftEntry) => string | undefined;
  /** What it found wrong with them together. */
  readonly problem: string | undefined;
  readonly onChange: (entries: readonly DraftEntry[]) => void;
}

/** What of its target a rule speaks of: as many rows as there are entries. */
export function EntryFields({ entries, problemOf, problem, onChange }: Props) {
  const add = useRef<HTMLButtonElement>(null);
  const set = (key: number, change: Partial<DraftEntry>) =>
    onChange(entries.map((entry) => (entry.key === key ? { ...entry, ...change } : entry)));
  return (
    <fieldset className="entries">
      <legend className="label">{names.entries}</legend>
      {entries.length === 0 && <p className="fine">{names.noEntries}</p>}
      {problem !== undefined && <p className="field-problem">{problem}</p>}
      {entries.map((entry, n) => (
        <div key={entry.key} className="entry">
          <ChoiceField
            label={names.entryKind(n + 1)}
            value={entry.kind}
            choices={names.entryKinds}
            onChange={(kind) => set(entry.key, { kind })}
          />
          {entry.kind === "argument" && (
            <TextField
              label={names.argumentName}
              value={entry.name}
              onChange={(name) => set(entry.key, { name })}
              isCode
            />
          )}
          <TextField
            label={names.entryText[entry.kind]}
            value={entry.text}
            onChange={(text) => set(entry.key, { text })}
            rows={entry.text.includes("\n") ? 3 : undefined}
            isCode
            problem={problemOf(entry)}
          />
          <button
            type="button"
            onClick={() => {
              onChange(entries.filter(({ key }) => key !== entry.key));
              add.current?.focus();
            }}
          >
            {names.removeEntry}
            <span className="unseen"> {n + 1}</span>
          </button>
        </div>
      ))}
      <p className="fine">{names.entriesHint}</p>
      <button
        ref={add}
        type="button"
        onClick={() => {
          const key = 1 + Math.max(-1, ...entries.map((entry) => entry.key));
          onChange([...entries, { key, kind: entries.at(-1)?.kind ?? "unit", name: "", text: "" }]);
        }}
      >
        {names.addEntry}
      </button>
    </fieldset>
  );
}
