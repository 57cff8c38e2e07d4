import type { ReactNode } from "react";
import { words } from "../words.ts";

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly isCode?: boolean;
  readonly isRequired?: boolean;
  readonly type?: "text" | "password" | "email" | "url";
  readonly hint?: string | undefined;
}

/** A text to fill in, of one line or of `rows`. */
export function TextField({
  label,
  value,
  onChange,
  rows,
  isCode = false,
  isRequired = false,
  type = "text",
  hint,
}: TextProps) {
  const common = { value, required: isRequired, className: isCode ? "code" : undefined, spellCheck: !isCode };
  return (
    <label className="field">
      <span className="label">{label}</span>
      {rows === undefined ? (
        <input {...common} type={type} autoComplete="off" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea {...common} rows={rows} onChange={(event) => onChange(event.target.value)} />
      )}
      {hint !== undefined && <span className="fine">{hint}</span>}
    </label>
  );
}

interface ChoiceProps<K extends string> {
  readonly label: string;
  readonly value: K;
  readonly choices: Readonly<Record<K, string>>;
  readonly isDisabled?: boolean;
  readonly onChange: (value: K) => void;
}

/** One of a few. */
export function ChoiceField<K extends string>({ label, value, choices, isDisabled = false, onChange }: ChoiceProps<K>) {
  return (
    <label className="field">
      <span className="label">{label}</span>
      <select value={value} disabled={isDisabled} onChange={(event) => onChange(event.target.value as K)}>
        {Object.entries<string>(choices).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FormProps {
  readonly onSubmit: () => void;
  readonly submit: string;
  readonly isBusy: boolean;
  readonly error?: Error | null;
  readonly isDangerous?: boolean;
  readonly onCancel?: () => void;
  readonly children?: ReactNode;
}

/** What is filled in stays until it was taken; a refusal stands beside it. */
export function Form({ onSubmit, submit, isBusy, error = null, isDangerous = false, onCancel, children }: FormProps) {
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {error !== null && (
        <p className="refused" role="alert">
          {error.message}
        </p>
      )}
      <div className="buttons">
        <button type="submit" className={isDangerous ? "danger" : "primary"} disabled={isBusy}>
          {submit}
        </button>
        {onCancel !== undefined && (
          <button type="button" onClick={onCancel}>
            {words.card.cancel}
          </button>
        )}
      </div>
    </form>
  );
}
