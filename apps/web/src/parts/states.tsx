import type { ReactNode } from "react";
import { NoAnswer, Refused } from "../api.ts";
import { ExactLine } from "./exact-text.tsx";
import { words } from "../words.ts";
import "./states.css";

/** Something is on its way. */
export function Waiting() {
  return (
    <p className="state" role="status">
      {words.loading}
    </p>
  );
}

/** There is nothing, and what that means. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

/** It is there, and not for this person to read: why, and whom to ask. Asking again changes nothing. */
export function Closed({
  title,
  error,
  hint,
}: {
  readonly title: string;
  readonly error: Refused;
  readonly hint: string;
}) {
  return (
    <div className="state closed" role="status">
      <p>
        <strong>{title}</strong>
      </p>
      <p>
        <ExactLine text={error.message} />
      </p>
      <p className="fine">{hint}</p>
    </div>
  );
}

/** It could not be read: why, and a way on. */
export function Failure({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const isKnown = error instanceof Refused || error instanceof NoAnswer;
  return (
    <div className="state failure" role="alert">
      <p>
        <ExactLine text={isKnown ? error.message : String(error)} />
      </p>
      {error instanceof Refused && <p className="fine">{error.problem.requestId}</p>}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {words.retry}
        </button>
      )}
    </div>
  );
}

/** What was asked for was not done: why, said aloud. Nothing where there is no error. */
export function Refusal({ error }: { readonly error: Error | null | undefined }) {
  if (error === null || error === undefined) return null;
  return (
    <p className="refused" role="alert">
      <ExactLine text={error.message} />
    </p>
  );
}
