import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Refused } from "../api.ts";
import { ExactText } from "../parts/exact-text.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import { type Page, savePage, usePage } from "./queries.ts";

const names = words.kb;

/**
 * A page as text. It is saved on the revision it was read at: what others changed elsewhere in it is kept, and where both
 * changed the same, both texts are shown and one chooses. What is typed is never lost to a refusal.
 */
export function PageEditor({ page: first, onDone }: { readonly page: Page; readonly onDone: () => void }) {
  const client = useQueryClient();
  const [base, setBase] = useState(first);
  const [text, setText] = useState(first.okf);
  const now = usePage(first.id).data ?? first;
  const save = useAct("pages", savePage, ({ isMerged, warnings }) => {
    if (!isMerged && warnings.length === 0) onDone();
  });
  const isStale = save.error instanceof Refused && save.error.problem.code === "stale";
  const saveOn = (page: Page): void => {
    setBase(page);
    save.mutate({ id: page.id, revision: page.revision, okf: text });
  };

  return (
    <>
      {save.data !== undefined && (
        <p className="told-once" role="status">
          {names.saved[save.data.outcome]} {save.data.isMerged && names.merged} {save.data.warnings.join(" ")}{" "}
          <button type="button" className="quiet" onClick={onDone}>
            {words.keys.close}
          </button>
        </p>
      )}
      <div className={isStale ? "kb-both" : undefined}>
        <Form
          submit={isStale ? names.onTop : names.save}
          isBusy={save.isPending}
          error={isStale ? null : save.error}
          onSubmit={() => saveOn(isStale ? now : base)}
          onCancel={onDone}
        >
          {isStale && (
            <p className="refused" role="alert">
              {names.stale} {save.error?.message}
            </p>
          )}
          <TextField
            label={isStale ? names.yours : names.text}
            value={text}
            onChange={setText}
            rows={Math.min(30, Math.max(12, text.split("\n").length + 2))}
            isCode
          />
        </Form>
        {isStale && (
          <section className="kb-theirs">
            <h2>{names.theirs}</h2>
            <ExactText text={now.okf} />
            <div className="buttons">
              <button
                type="button"
                onClick={() => {
                  setBase(now);
                  setText(now.okf);
                  save.reset();
                  void client.invalidateQueries({ queryKey: ["pages", first.id] });
                }}
              >
                {names.takeTheirs}
              </button>
            </div>
          </section>
        )}
      </div>
    </>
  );
}
