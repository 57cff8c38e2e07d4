import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ask, type Task } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { Refusal } from "../parts/states.tsx";
import { readTaskAnew, useMe } from "../queries.ts";
import { isBlank } from "../parts/visible.ts";
import { words } from "../words.ts";
import type { CardActions } from "./card.tsx";

interface Props {
  readonly task: Task;
  readonly arm: (act: () => void) => () => void;
  /** Told what keys do on this card. */
  readonly onActions: (actions: CardActions) => void;
}

type Said = { readonly kind: "answer"; readonly answer: string } | { readonly kind: "dismiss" | "done" };

/** Answers a question, or closes a plain task. What was typed stays until the server took it. */
export function TaskActions({ task, arm, onActions }: Props) {
  const client = useQueryClient();
  const me = useMe();
  const [typed, setTyped] = useState("");
  const close = useMutation({
    mutationFn: (said: Said) => send(task.id, said),
    onSettled: (_, error) => readTaskAnew(client, task.id, error),
  });
  const options = task.question?.options ?? [];
  const isHeld = (task.question?.heldBy ?? null) !== null;
  const isViewer = me.data?.role === "viewer";
  // Until it is known who looks at the card, nobody answers it.
  const isBusy = close.isPending || isHeld || me.data === undefined || isViewer;
  const say = (said: Said) => (): void => {
    if (!isBusy && !(said.kind === "answer" && isBlank(said.answer))) close.mutate(said);
  };

  useEffect(() => {
    const inOrder =
      task.question === null ? [say({ kind: "done" })] : options.map((answer) => say({ kind: "answer", answer }));
    onActions({ onDigit: Object.fromEntries(inOrder.map((act, n) => [n + 1, act])), refuse: say({ kind: "dismiss" }) });
  });

  if (isViewer) return <p className="fine">{words.card.mayNotAnswer}</p>;
  return (
    <>
      <Refusal error={close.error} />
      {task.question === null ? (
        <div className="buttons">
          <button type="button" className="primary" disabled={isBusy} onClick={arm(say({ kind: "done" }))}>
            {words.tasks.done} <kbd aria-hidden="true">1</kbd>
          </button>
          <button type="button" disabled={isBusy} onClick={arm(say({ kind: "dismiss" }))}>
            {words.card.dismiss}
          </button>
        </div>
      ) : (
        <>
          {options.length > 0 && (
            <div className="buttons">
              {options.map((answer, n) => (
                <button
                  key={n}
                  type="button"
                  disabled={isBusy || isBlank(answer)}
                  onClick={arm(say({ kind: "answer", answer }))}
                >
                  {answer === "" ? words.card.emptyOption : <ExactLine text={answer} />}{" "}
                  {n < 9 && <kbd aria-hidden="true">{n + 1}</kbd>}
                </button>
              ))}
            </div>
          )}
          <form
            className="answer"
            onSubmit={(event) => {
              event.preventDefault();
              if (!isBlank(typed)) say({ kind: "answer", answer: typed })();
            }}
          >
            <label className="field">
              <span className="label">{words.card.freeAnswer}</span>
              <textarea rows={1} maxLength={20_000} value={typed} onChange={(event) => setTyped(event.target.value)} />
            </label>
            <button type="submit" className="primary" disabled={isBusy || isBlank(typed)}>
              {words.card.answer}
            </button>
            <button type="button" className="quiet" disabled={isBusy} onClick={arm(say({ kind: "dismiss" }))}>
              {words.card.dismissQuestion}
            </button>
          </form>
        </>
      )}
    </>
  );
}

async function send(id: string, said: Said): Promise<unknown> {
  const param = { id };
  const header = {};
  switch (said.kind) {
    case "answer":
      return await ask(api.tasks[":id"].answer.$post({ param, json: { answer: said.answer } }));
    case "done":
      return await ask(api.tasks[":id"].done.$post({ param }));
    case "dismiss":
      return await ask(api.tasks[":id"].dismiss.$post({ param, header, json: {} }));
  }
}
