import { visibleText } from "./visible.ts";
import { words } from "../words.ts";
import "./mode-control.css";

/** What can be set for a tool; null is what the layers around say. */
export type SetMode = "off" | "ask" | "allow" | null;

const modes = ["off", "ask", "allow"] as const;

interface Props {
  /** What it is for, as a listener hears it. */
  readonly name: string;
  readonly value: SetMode | "deny" | "allowlist";
  readonly isDisabled?: boolean;
  readonly onChange: (mode: SetMode) => void;
}

/** A list of what runs unasked is asking, refined. */
function isSet(value: Props["value"], mode: SetMode): boolean {
  return value === mode || (value === "allowlist" && mode === "ask");
}

/** Off, Ask or Allow, in one control that is the same everywhere. Pressing what is set takes it back. */
export function ModeControl({ name, value, isDisabled = false, onChange }: Props) {
  return (
    <div className="modes" role="group" aria-label={visibleText(name)}>
      {modes.map((mode) => (
        <button
          key={mode}
          type="button"
          disabled={isDisabled}
          aria-pressed={isSet(value, mode)}
          onClick={() => onChange(value === mode ? null : mode)}
        >
          {words.admin.rules.modes[mode]}
        </button>
      ))}
    </div>
  );
}
