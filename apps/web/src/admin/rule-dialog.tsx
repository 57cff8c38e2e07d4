import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { diffLines } from "../parts/diff-lines.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { problemAt } from "../parts/problem-at.ts";
import { useAct } from "../parts/use-act.ts";
import { sayWhen } from "../parts/time.tsx";
import { words } from "../words.ts";
import { EntryFields } from "./entry-fields.tsx";
import { changeOf, type Draft, draftOf, type Rule, ruleLines, sentEntries } from "./rule-draft.ts";
import { SeenChange } from "./seen-change.tsx";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;
const at = (place: string): string => `json.changes.0.${place}`;

interface Props {
  readonly scope: ToolScope;
  /** The rule that is changed; without it another is written. */
  readonly given?: Rule | undefined;
  readonly onClose: () => void;
}

/** Writes a rule, after a look at what that would change; it is written against the rule that was seen in that look. */
export function RuleDialog({ scope, given, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(given));
  const send = (version: number | undefined) => {
    const change = { ...changeOf(draft, given), ...(version === undefined ? {} : { version }) };
    const query = { ...scope, dryRun: version === undefined ? ("true" as const) : ("false" as const) };
    return ask(api.rules.$patch({ query, json: { changes: [change] } }));
  };
  const look = useAct("rules", () => send(undefined));
  const write = useAct("rules", (version: number) => send(version), onClose);
  const seen = look.data?.changes[0];
  const error = write.error ?? look.error;
  const set = (change: Partial<Draft>): void => {
    setDraft({ ...draft, ...change });
    look.reset();
    write.reset();
  };
  const sent = sentEntries(draft);
  return (
    <Dialog title={given === undefined ? names.newRule : names.changeRule} onClose={onClose}>
      <Form
        submit={names.look}
        isBusy={look.isPending || write.isPending || (draft.kind !== "everything" && draft.name.trim() === "")}
        error={error}
        onSubmit={() => {
          write.reset();
          look.mutate(undefined);
        }}
        onCancel={onClose}
      >
        {given === undefined ? (
          <>
            <ChoiceField
              label={names.speaksOf}
              value={draft.kind}
              choices={names.targets}
              onChange={(kind) => set({ kind })}
            />
            {draft.kind !== "everything" && (
              <TextField
                label={names.targetName}
                value={draft.name}
                onChange={(name) => set({ name })}
                isCode
                isRequired
                problem={problemAt(error, at("target"))}
              />
            )}
          </>
        ) : (
          <p>
            {names.targets[draft.kind]}{" "}
            <code>
              <ExactLine text={draft.name} />
            </code>
          </p>
        )}
        <ChoiceField
          label={names.does}
          value={draft.mode}
          choices={names.allModes}
          onChange={(mode) => set({ mode })}
          problem={problemAt(error, at("mode"))}
        />
        {draft.mode !== "off" && (
          <EntryFields
            entries={draft.entries}
            problem={sent.length === 0 ? problemAt(error, at("entries")) : undefined}
            problemOf={(entry) =>
              sent.includes(entry) ? problemAt(error, at(`entries.${sent.indexOf(entry)}`)) : undefined
            }
            onChange={(entries) => set({ entries })}
          />
        )}
        <TextField
          label={names.expires}
          value={draft.expiresAt}
          onChange={(expiresAt) => set({ expiresAt })}
          type="datetime-local"
          hint={names.expiresHint(sayWhen(draft.expiresAt))}
          problem={problemAt(error, at("expiresAt"))}
        />
        {scope.scope === "workspace" && (
          <label className="check">
            <input
              type="checkbox"
              checked={draft.isLocked}
              onChange={(event) => set({ isLocked: event.target.checked })}
            />
            {names.locked}
          </label>
        )}
      </Form>
      {seen !== undefined && write.error === null && (
        <SeenChange
          diff={seen.outcome === "unchanged" ? "" : diffOf(seen)}
          label={seen.before === undefined ? names.isNew : names.difference}
          isBusy={write.isPending}
          onWrite={() => write.mutate(seen.version)}
        />
      )}
    </Dialog>
  );
}

/** A rule that is new has no line that was there before, not even an empty one. */
function diffOf({ before, after }: { readonly before?: unknown; readonly after?: unknown }): string {
  if (before === undefined) return ruleLines(after).replaceAll(/^/gm, "+");
  return diffLines(ruleLines(before), ruleLines(after));
}
