import type { ReactNode } from "react";
import "./row-acts.css";

/** The last cell of a row: what can be done with what stands there. */
export function RowActs({ children }: { readonly children: ReactNode }) {
  return (
    <td>
      <span className="row-acts">{children}</span>
    </td>
  );
}
