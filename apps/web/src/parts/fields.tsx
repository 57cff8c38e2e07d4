import { type ReactNode, useEffect, useId, useRef } from "react";
import { ExactLine } from "./exact-text.tsx";
import { Refusal } from "./states.tsx";
import { visibleText } from "./visible.ts";
import { words } from "../words.ts";

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number | undefined;
  readonly isCode?: boolean;
  readonly isRequired?: boolean;
  readonly type?: "text" | "password" | "email" | "url" | "datetime-local";
  readonly hint?: string | undefined;
  /** What is wrong with it. */
  readonly problem?: string | undefined;
}

/** Those that the server takes, to the second. */
const moments = { step: 1, min: "1970-01-02T00:00:00", max: "2999-12-30T23:59:59" };

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
  problem,
}: TextProps) {
  const problemId = useId();
  const common = {
    value,
    required: isRequired,
    className: isCode ? "code" : undefined,
    spellCheck: !isCode,
    ...wrongAs(problem, problemId),
  };
  return (
    <label className="field">
      <span className="label">{label}</span>
      {rows === undefined ? (
        <input
          {...common}
          type={type}
          {...(type === "datetime-local" ? moments : {})}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <textarea {...common} rows={rows} onChange={(event) => onChange(event.target.value)} />
      )}
      {hint !== undefined && <span className="fine">{hint}</span>}
      <FieldProblem id={problemId} problem={problem} />
    </label>
  );
}

interface ChoiceProps<K extends string> {
  readonly label: string;
  readonly value: K;
  readonly choices: Readonly<Record<K, string>>;
  readonly isDisabled?: boolean;
  readonly problem?: string | undefined;
  readonly onChange: (value: K) => void;
}

/** One of a few. */
export function ChoiceField<K extends string>({
  label,
  value,
  choices,
  isDisabled = false,
  problem,
  onChange,
}: ChoiceProps<K>) {
  const problemId = useId();
  return (
    <label className="field">
      <span className="label">{label}</span>
      <select
        value={value}
        disabled={isDisabled}
        {...wrongAs(problem, problemId)}
        onChange={(event) => onChange(event.target.value as K)}
      >
        {Object.entries<string>(choices).map(([key, name]) => (
          <option key={key} value={key}>
            {visibleText(name)}
          </option>
        ))}
      </select>
      <FieldProblem id={problemId} problem={problem} />
    </label>
  );
}

function wrongAs(problem: string | undefined, problemId: string) {
  return problem === undefined ? {} : { "aria-invalid": true, "aria-describedby": problemId };
}

function FieldProblem({ id, problem }: { readonly id: string; readonly problem: string | undefined }) {
  return problem === undefined ? null : (
    <span id={id} className="field-problem">
      <ExactLine text={problem} />
    </span>
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
  const form = useRef<HTMLFormElement>(null);

  // Whoever sent it is led to the first field that was refused; it may be out of sight.
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);

  return (
    <form
      ref={form}
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <Refusal error={error} />
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
