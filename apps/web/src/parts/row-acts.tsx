import type { ReactNode } from "react";
import { ExactLine } from "./exact-text.tsx";
import "./row-acts.css";

/** The last cell of a row: what can be done with what stands there. */
export function RowActs({ children }: { readonly children: ReactNode }) {
  return (
    <td>
      <span className="row-acts">{children}</span>
    </td>
  );
}

interface RowActProps {
  /** The name of what stands in the row, for those who hear the button and do not see the row. */
  readonly of: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly onPress: () => void;
  readonly children: string;
}

/** One of the things that can be done with what stands in a row. */
export function RowAct({ of, isDangerous = false, isDisabled = false, onPress, children }: RowActProps) {
  return (
    <button type="button" className={isDangerous ? "danger" : undefined} disabled={isDisabled} onClick={onPress}>
      {children}
      <span className="unseen">
        {" "}
        <ExactLine text={of} />
      </span>
    </button>
  );
}
