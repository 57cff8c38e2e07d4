import { useState } from "react";
import type { Approval } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import type { Said } from "./use-decision.ts";

interface Props {
  readonly approval: Approval;
  readonly units: readonly string[];
  readonly onClose: () => void;
  readonly onChoose: (remember: NonNullable<Said["remember"]>) => void;
}

/** What is to run without asking from now on, and where: the narrowest first. */
export function AlwaysDialog({ approval, units, onClose, onChoose }: Props) {
  const me = useMe();
  const [chosen, setChosen] = useState<string[]>([...units]);
  const [isWholeTool, setWholeTool] = useState(units.length === 0);
  const [scope, setScope] = useState<"definition" | "workspace">("definition");
  const mayWorkspace = me.data?.role === "admin";
  const isNothing = !isWholeTool && chosen.length === 0;

  return (
    <Dialog title={words.card.alwaysTitle} onClose={onClose}>
      <form
        className="fields"
        onSubmit={(event) => {
          event.preventDefault();
          const isEach = chosen.length === units.length;
          // All that the card names is what a rule holds unless it is told otherwise.
          onChoose({ scope, ...(isWholeTool ? { units: "all" } : isEach ? {} : { units: chosen }) });
        }}
      >
        <p>{words.card.alwaysLead}</p>
        {units.length > 0 && (
          <fieldset className="options">
            <legend className="label">{words.card.alwaysUnits}</legend>
            {units.map((unit) => (
              <label key={unit} className="option">
                <input
                  type="checkbox"
                  disabled={isWholeTool}
                  checked={isWholeTool || chosen.includes(unit)}
                  onChange={(event) =>
                    setChosen(event.target.checked ? [...chosen, unit] : chosen.filter((one) => one !== unit))
                  }
                />
                <code>
                  <ExactLine text={unit} />
                </code>
              </label>
            ))}
          </fieldset>
        )}
        <label className="option">
          <input
            type="checkbox"
            disabled={units.length === 0}
            checked={isWholeTool}
            onChange={(event) => setWholeTool(event.target.checked)}
          />
          <ExactLine text={words.card.alwaysTool(approval.tool)} />
        </label>
        <fieldset className="options">
          <legend className="label">{words.card.alwaysWhere}</legend>
          {(["definition", "workspace"] as const).map((one) => (
            <label key={one} className="option">
              <input
                type="radio"
                name="scope"
                disabled={one === "workspace" && !mayWorkspace}
                checked={scope === one}
                onChange={() => setScope(one)}
              />
              {words.card.alwaysScopes[one]}
            </label>
          ))}
        </fieldset>
        <div className="buttons">
          <button type="submit" className="primary" disabled={isNothing}>
            {words.card.alwaysWrite}
          </button>
          <button type="button" onClick={onClose}>
            {words.card.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
