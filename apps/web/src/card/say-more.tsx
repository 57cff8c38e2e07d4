import { type ReactNode, useId, useState } from "react";
import type { Approval } from "../api.ts";
import { isLong } from "../parts/long-text.tsx";
import { words } from "../words.ts";
import { HandOverDialog } from "./hand-over-dialog.tsx";
import { MoreTimeDialog } from "./more-time-dialog.tsx";

export interface Typed {
  readonly feedback: string;
  readonly note: string;
}

interface Props {
  readonly approval: Approval;
  readonly typed: Typed;
  readonly onType: (typed: Typed) => void;
  readonly isEditing: boolean;
  readonly onEdit: () => void;
  readonly isTogether: boolean;
  readonly onTogether: (isTogether: boolean) => void;
}

/** What few decisions need: words, other arguments, more time, somebody else. */
export function SayMore({ approval, typed, onType, isEditing, onEdit, isTogether, onTogether }: Props) {
  const [open, setOpen] = useState<"time" | "person">();
  const isOutcome = approval.kind === "outcome";
  const close = (): void => setOpen(undefined);
  return (
    <details className="say-more">
      <summary>{words.card.words}</summary>
      <div className="fields">
        <Words
          label={words.card.feedback}
          value={typed.feedback}
          onChange={(feedback) => onType({ ...typed, feedback })}
        />
        <Words label={words.card.note} value={typed.note} onChange={(note) => onType({ ...typed, note })} />
        {(approval.equal ?? 0) > 0 && (
          <label className="check">
            <input type="checkbox" checked={isTogether} onChange={(event) => onTogether(event.target.checked)} />
            {words.card.together}
          </label>
        )}
        <div className="row-buttons">
          {!isOutcome && (
            <Quiet isDisabled={isLong(approval.args)} onClick={onEdit}>
              {isEditing ? words.card.cancelEdit : words.card.editArgs}
            </Quiet>
          )}
          {approval.expiresAt !== null && <Quiet onClick={() => setOpen("time")}>{words.card.moreTime}</Quiet>}
          <Quiet onClick={() => setOpen("person")}>{words.card.handOver}</Quiet>
        </div>
      </div>
      {open === "time" && <MoreTimeDialog approval={approval} onClose={close} />}
      {open === "person" && <HandOverDialog approvalId={approval.id} onClose={close} />}
    </details>
  );
}

function Words({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <label className="field" htmlFor={id}>
      <span className="label">{label}</span>
      <textarea id={id} rows={2} maxLength={4_000} value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

function Quiet({
  isDisabled = false,
  onClick,
  children,
}: {
  readonly isDisabled?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <button type="button" className="quiet" disabled={isDisabled} onClick={onClick}>
      {children}
    </button>
  );
}
