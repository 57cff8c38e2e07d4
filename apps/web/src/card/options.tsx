import { useId } from "react";
import { ExactLine } from "../parts/exact-text.tsx";
import type { Option } from "./read-card.ts";

interface Props {
  readonly options: readonly Option[];
  readonly label: string;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}

/** What a person picks one from; nothing is chosen beforehand. */
export function Options({ options, label, chosen, onChoose }: Props) {
  const name = useId();
  return (
    <fieldset className="options">
      <legend className="label">
        <ExactLine text={label} />
      </legend>
      {options.map(({ id, label: text, detail }) => (
        <label key={id} className="option">
          <input type="radio" name={name} checked={chosen === id} onChange={() => onChoose(id)} />
          <span>
            <ExactLine text={text} />
            {detail !== undefined && (
              <span className="fine">
                {" "}
                <ExactLine text={detail} />
              </span>
            )}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
