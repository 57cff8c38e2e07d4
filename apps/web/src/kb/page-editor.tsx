import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Refused } from "../api.ts";
import { ExactLine, ExactText } from "../parts/exact-text.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import { keepDraft, keptDraft } from "./drafts.ts";
import { type Page, savePage, usePage } from "./queries.ts";

const names = words.kb;

/**
 * A page as text. It is saved on the revision it was read at: what others changed elsewhere in it is kept, and where both
 * changed the same, both texts are shown and one chooses. What is typed is never lost to a refusal, nor to a look at another
 * page: it stands here again when one comes back.
 */
export function PageEditor({ page: first, onDone }: { readonly page: Page; readonly onDone: () => void }) {
  const client = useQueryClient();
  const [before] = useState(() => keptDraft(first.id));
  const [base, setBase] = useState(before?.base ?? first);
  const [text, setText] = useState(before?.text ?? first.okf);
  const typed = useRef(text);
  const sent = useRef({ page: base, okf: text });
  const pageId = first.id;
  useEffect(() => {
    typed.current = text;
    keepDraft(pageId, { base, text });
    if (text === base.okf) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [pageId, base, text]);
  const leave = (): void => {
    keepDraft(pageId, undefined);
    onDone();
  };
  const now = usePage(first.id).data ?? first;
  const save = useAct("pages", savePage, ({ isMerged, warnings, revision }) => {
    const { page: saved, okf } = sent.current;
    // What was typed while it was saved stands on what was saved.
    if (!isMerged) setBase({ ...saved, revision, okf });
    if (isMerged || typed.current !== okf) return;
    keepDraft(pageId, undefined);
    if (warnings.length === 0) onDone();
  });
  const isStale = save.error instanceof Refused && save.error.problem.code === "stale";
  const saveOn = (page: Page): void => {
    setBase(page);
    sent.current = { page, okf: text };
    save.mutate({ id: page.id, revision: page.revision, okf: text });
  };

  return (
    <>
      {save.data !== undefined && (
        <p className="told-once" role="status">
          {names.saved[save.data.outcome]} {save.data.isMerged && names.merged}{" "}
          <ExactLine text={save.data.warnings.join(" ")} />{" "}
          <button type="button" className="quiet" onClick={leave}>
            {words.keys.close}
          </button>
        </p>
      )}
      {before !== undefined && text === before.text && (
        <p className="told-once" role="status">
          {names.restored}{" "}
          <button
            type="button"
            className="quiet"
            onClick={() => {
              setBase(first);
              setText(first.okf);
            }}
          >
            {names.discard}
          </button>
        </p>
      )}
      <div className={isStale ? "kb-both" : undefined}>
        <Form
          submit={isStale ? names.onTop : names.save}
          isBusy={save.isPending}
          error={isStale ? null : save.error}
          onSubmit={() => saveOn(isStale ? now : base)}
          onCancel={leave}
        >
          {isStale && (
            <p className="refused" role="alert">
              {names.stale} <ExactLine text={save.error?.message ?? ""} />
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
