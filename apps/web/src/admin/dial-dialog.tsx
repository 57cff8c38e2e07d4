import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { diffLines } from "../parts/diff-lines.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { problemAt } from "../parts/problem-at.ts";
import { useAct } from "../parts/use-act.ts";
import { sayWhen } from "../parts/time.tsx";
import { words } from "../words.ts";
import { instantOf, type Layer, localMoment } from "./rule-draft.ts";
import { SeenChange } from "./seen-change.tsx";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;

interface Draft {
  readonly level: keyof typeof names.dials;
  readonly expiresAt: string;
  readonly isDialLocked: boolean;
  readonly policy: keyof typeof names.policies;
  readonly isPolicyLocked: boolean;
}

interface Props {
  readonly scope: ToolScope;
  readonly layer: Layer;
  readonly onClose: () => void;
}

/** Sets what runs unasked and which calls ask, after a look at what that would change. */
export function DialDialog({ scope, layer, onClose }: Props) {
  const [draft, setDraft] = useState(() => draftOf(layer));
  const after = saidBy(draft, layer);
  const look = useAct("rules", () => ask(api.rules.$get({ query: scope })));
  const write = useAct(
    "rules",
    (seen: Layer) =>
      ask(
        api.policy.dial.$patch({
          query: scope,
          header: { "if-match": `"${seen.version}"` },
          json: requestOf(after),
        }),
      ),
    onClose,
  );
  const seen = look.data;
  const error = write.error ?? look.error;
  const set = (change: Partial<Draft>): void => {
    setDraft({ ...draft, ...change });
    look.reset();
    write.reset();
  };
  const lock = (label: string, isLocked: boolean, change: (isLocked: boolean) => Partial<Draft>) =>
    scope.scope === "workspace" && (
      <label className="check">
        <input type="checkbox" checked={isLocked} onChange={(event) => set(change(event.target.checked))} />
        {label}
      </label>
    );
  return (
    <Dialog title={names.dialTitle} onClose={onClose}>
      <Form
        submit={names.look}
        isBusy={look.isPending || write.isPending}
        error={error}
        onSubmit={() => {
          write.reset();
          look.mutate(undefined);
        }}
        onCancel={onClose}
      >
        <ChoiceField
          label={names.dial}
          value={draft.level}
          choices={names.dials}
          onChange={(level) => set({ level })}
        />
        {draft.level !== "" && (
          <>
            <TextField
              label={names.expires}
              value={draft.expiresAt}
              onChange={(expiresAt) => set({ expiresAt })}
              type="datetime-local"
              hint={names.dialExpiresHint(sayWhen(draft.expiresAt))}
              problem={problemAt(error, "json.dial.expiresAt")}
            />
            {lock(names.locked, draft.isDialLocked, (isDialLocked) => ({ isDialLocked }))}
          </>
        )}
        <ChoiceField
          label={names.policy}
          value={draft.policy}
          choices={names.policies}
          onChange={(policy) => set({ policy })}
        />
        {draft.policy !== "" && lock(names.lockedToo, draft.isPolicyLocked, (isPolicyLocked) => ({ isPolicyLocked }))}
      </Form>
      {seen !== undefined && write.error === null && (
        <SeenChange
          diff={linesOf(seen) === linesOf(after) ? "" : diffLines(linesOf(seen), linesOf(after))}
          label={names.difference}
          isBusy={write.isPending}
          onWrite={() => write.mutate(seen)}
        />
      )}
    </Dialog>
  );
}

function draftOf({ dial, approvalPolicy }: Layer): Draft {
  return {
    level: dial?.level ?? "",
    expiresAt: dial?.expiresAt == null ? "" : localMoment(dial.expiresAt),
    isDialLocked: dial?.locked ?? false,
    policy: approvalPolicy?.level ?? "",
    isPolicyLocked: approvalPolicy?.locked ?? false,
  };
}

type Said = Pick<Layer, "dial" | "approvalPolicy">;

function saidBy({ level, expiresAt, isDialLocked, policy, isPolicyLocked }: Draft, { dial }: Layer): Said {
  const until = expiresAt === "" ? null : instantOf(expiresAt, dial?.expiresAt ?? null);
  return {
    dial: level === "" ? null : { level, locked: isDialLocked, expiresAt: until },
    approvalPolicy: policy === "" ? null : { level: policy, locked: isPolicyLocked },
  };
}

function requestOf({ dial, approvalPolicy }: Said) {
  if (dial === null) return { dial, approvalPolicy };
  const { expiresAt, ...said } = dial;
  return { dial: { ...said, ...(expiresAt === null ? {} : { expiresAt }) }, approvalPolicy };
}

function linesOf({ dial, approvalPolicy }: Said): string {
  const dialNotes = [
    ...(dial?.expiresAt == null ? [] : [`${names.until} ${dial.expiresAt}`]),
    ...(dial?.locked === true ? [names.isLocked] : []),
  ];
  const policyNotes = approvalPolicy?.locked === true ? [names.isLocked] : [];
  return [
    `${names.dial}: ${[names.dials[dial?.level ?? ""], ...dialNotes].join(", ")}`,
    `${names.policy}: ${[names.policies[approvalPolicy?.level ?? ""], ...policyNotes].join(", ")}`,
  ].join("\n");
}
