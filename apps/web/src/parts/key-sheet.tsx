import { useEffect, useState } from "react";
import { isFree } from "../card/use-card-moves.ts";
import { words } from "../words.ts";
import { Dialog } from "./dialog.tsx";
import { KeysCheck } from "./keys-check.tsx";

/** `?` shows what keys do, and lets one turn them off in this browser. */
export function KeySheet() {
  const [isOpen, setOpen] = useState(false);

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === "?" && isFree(event)) setOpen(true);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  if (!isOpen) return null;
  return (
    <Dialog title={words.keys.title} onClose={() => setOpen(false)}>
      <p>{words.keys.lead}</p>
      <Keys list={words.keys.list} />
      <p>{words.keys.anywhere}</p>
      <Keys list={words.keys.moves} />
      <KeysCheck />
      <div className="buttons">
        <button type="button" onClick={() => setOpen(false)}>
          {words.keys.close}
        </button>
      </div>
    </Dialog>
  );
}

function Keys({ list }: { readonly list: readonly (readonly [string, string])[] }) {
  return (
    <dl className="facts">
      {list.map(([key, does]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
