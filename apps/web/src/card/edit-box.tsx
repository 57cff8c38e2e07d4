import { useMemo } from "react";
import { ExactText } from "../parts/exact-text.tsx";
import { countMarks } from "../parts/visible.ts";
import { words } from "../words.ts";

/** A box shows a text as it is, so what a reader would not see in it is said beside it, with all of it made visible. */
export function EditBox({
  text,
  isNotJson,
  onChange,
}: {
  readonly text: string;
  readonly isNotJson: boolean;
  readonly onChange: (text: string) => void;
}) {
  const marks = useMemo(() => countMarks(text), [text]);
  return (
    <>
      <label className="field">
        <span className="label">{words.card.args}</span>
        <textarea
          className="code"
          rows={Math.min(20, text.split("\n").length + 1)}
          spellCheck={false}
          value={text}
          aria-invalid={isNotJson}
          onChange={(event) => onChange(event.target.value)}
        />
        <span className="fine">{isNotJson ? words.card.notJson : words.card.editHint}</span>
      </label>
      {marks > 0 && (
        <details className="say-more" open>
          <summary>{words.card.unseen(marks)}</summary>
          <ExactText text={text} />
        </details>
      )}
    </>
  );
}
