import { useState } from "react";
import { areKeysOn, setKeys } from "../card/keys-switch.ts";
import { words } from "../words.ts";

/** Whether keys decide in this browser, to be turned on and off. */
export function KeysCheck() {
  const [areOn, setOn] = useState(areKeysOn);
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={areOn}
        onChange={(event) => {
          setKeys(event.target.checked);
          setOn(event.target.checked);
        }}
      />
      {words.keys.areOn}
    </label>
  );
}
