import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { api, ask, type RunTree } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { isBlank } from "../parts/visible.ts";
import { useMe } from "../queries.ts";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";

interface Props {
  readonly run: RunTree["run"];
}

/**
 * A message into a live run. Enter sends it, unless it ends the composing of a character; Shift with Enter is a new line.
 * What is typed for one run is never in the box of another.
 */
export function SteerBox({ run }: Props) {
  return <BoxOf key={run.id} run={run} />;
}

function BoxOf({ run }: Props) {
  const me = useMe();
  const client = useQueryClient();
  const [message, setMessage] = useState("");
  const steer = useMutation({
    mutationFn: (sent: string) =>
      ask(
        api.runs[":id"].steer.$post({
          param: { id: run.id },
          header: {},
          json: { message: sent },
        }),
      ),
    onSuccess: (_, sent) => {
      // What was typed meanwhile is the next message.
      setMessage((now) => (now.startsWith(sent) ? now.slice(sent.length).trimStart() : now));
    },
    onSettled: () => void client.invalidateQueries({ queryKey: ["runs", run.id] }),
  });
  const isEmpty = isBlank(message);
  const send = (): void => {
    if (!isEmpty && !steer.isPending && me.data !== undefined) steer.mutate(message);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { nativeEvent } = event;
    // 229 is what a browser calls a key that an input method took, also just after it is done.
    const isComposing = nativeEvent.isComposing || nativeEvent.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isComposing) return;
    event.preventDefault();
    send();
  };

  if (me.data !== undefined && me.data.id !== run.startedBy.id && me.data.role !== "admin") {
    return (
      <p className="steer-not fine">
        <ExactLine text={words.runs.steerMayNot(run.startedBy.name)} />
      </p>
    );
  }
  if (me.data?.role === "viewer") return <p className="steer-not fine">{words.runs.steerNeeds}</p>;
  return (
    <form
      className="steer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Refusal error={steer.error} />
      <textarea
        aria-label={words.runs.steer}
        placeholder={words.runs.steer}
        rows={1}
        maxLength={100_000}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <button type="submit" className="primary" disabled={isEmpty || steer.isPending || me.data === undefined}>
        {words.runs.steerButton}
      </button>
    </form>
  );
}
