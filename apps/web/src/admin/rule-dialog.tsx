import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;
type Kind = keyof typeof names.targets;
type Mode = keyof typeof names.allModes;

interface Props {
  readonly scope: ToolScope;
  /** The rule that is changed; without it another is written. */
  readonly given?:
    | {
        readonly kind: string;
        readonly name: string;
        readonly mode: string;
        readonly version: number;
        readonly units: readonly string[];
        readonly isLocked: boolean;
      }
    | undefined;
  readonly onClose: () => void;
}

/** Writes a rule: of what it speaks, what it does, and, where it speaks of a part only, of exactly which units. */
export function RuleDialog({ scope, given, onClose }: Props) {
  const [kind, setKind] = useState((given?.kind ?? "tool") as Kind);
  const [name, setName] = useState(given?.name ?? "");
  const [mode, setMode] = useState((given?.mode ?? "ask") as Mode);
  const [units, setUnits] = useState((given?.units ?? []).join("\n"));
  const [isLocked, setLocked] = useState(given?.isLocked ?? false);
  const entries = units
    .split("\n")
    .map((unit) => unit.trim())
    .filter((unit) => unit !== "")
    .map((unit) => ({ kind: "unit" as const, unit }));
  const write = useAct(
    "rules",
    () => {
      const target = kind === "everything" ? { kind } : { kind, name: name.trim() };
      const version = given === undefined ? {} : { version: given.version };
      const change = {
        target,
        mode,
        ...(entries.length === 0 ? {} : { entries }),
        ...(isLocked ? { locked: true } : {}),
      };
      return ask(api.rules.$patch({ query: scope, json: { changes: [{ ...change, ...version }] } }));
    },
    onClose,
  );
  return (
    <Dialog title={given === undefined ? names.newRule : names.changeRule} onClose={onClose}>
      <Form
        submit={names.write}
        isBusy={write.isPending || (kind !== "everything" && name.trim() === "")}
        error={write.error}
        onSubmit={() => write.mutate(undefined)}
        onCancel={onClose}
      >
        <ChoiceField label={names.speaksOf} value={kind} choices={names.targets} onChange={setKind} />
        {kind !== "everything" && (
          <TextField label={names.targetName} value={name} onChange={setName} isCode isRequired />
        )}
        <ChoiceField label={names.does} value={mode} choices={names.allModes} onChange={setMode} />
        <TextField label={names.units} value={units} onChange={setUnits} rows={3} isCode hint={names.unitsHint} />
        <label className="check">
          <input type="checkbox" checked={isLocked} onChange={(event) => setLocked(event.target.checked)} />
          {names.locked}
        </label>
      </Form>
    </Dialog>
  );
}
