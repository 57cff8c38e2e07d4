import { useState } from "react";
import { Link } from "wouter";
import { api, ask } from "../api.ts";
import { Diff } from "../card/diff.tsx";
import { diffLines } from "../parts/diff-lines.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Failure, Refusal, Waiting } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import "../parts/row-acts.css";
import { useCommand, useHistory } from "./queries.ts";

const names = words.kb;

/** What became of a page: who changed it, in which step of which run, and a way to take it back. */
export function History({ pageId, mayUndo }: { readonly pageId: string; readonly mayUndo: boolean }) {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useHistory(pageId);
  const [looked, setLooked] = useState<string>();
  const undo = useAct("pages", (id: string) => ask(api.commands[":id"].undo.$post({ param: { id } })));
  if (data === undefined) {
    return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;
  }
  return (
    <>
      <Refusal error={undo.error} />
      <ol className="kb-history">
        {data.pages
          .flatMap((part) => part.commands)
          .map((command) => (
            <li key={command.id}>
              <span className="fine">{names.revision(command.revision)}</span>{" "}
              <ExactLine text={names.historyOf(command.kind, command.by.name)} /> <Time at={command.at} />{" "}
              {command.runId !== null && (
                <Link href={`/runs/${command.runId}${command.callId === null ? "" : `#call-${command.callId}`}`}>
                  {names.inRun}
                </Link>
              )}{" "}
              {command.undoes !== null && <span className="fine">{names.undoing}</span>}
              {command.undoneBy !== null && <span className="fine">{names.undone}</span>}
              <span className="row-acts">
                <button type="button" onClick={() => setLooked(command.id)}>
                  {names.look}
                </button>
                {mayUndo && command.undoneBy === null && (
                  <button type="button" disabled={undo.isPending} onClick={() => undo.mutate(command.id)}>
                    {names.undo}
                  </button>
                )}
              </span>
            </li>
          ))}
      </ol>
      {hasNextPage && (
        <p className="more">
          <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {names.older}
          </button>
        </p>
      )}
      {looked !== undefined && <Change id={looked} onClose={() => setLooked(undefined)} />}
    </>
  );
}

function Change({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error } = useCommand(id);
  return (
    <Dialog title={names.look} onClose={onClose}>
      {data === undefined ? error === null ? <Waiting /> : <Failure error={error} /> : null}
      {data !== undefined && (
        <Diff text={diffLines(textOfState(data.before), textOfState(data.after))} label={names.look} />
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {words.keys.close}
        </button>
      </div>
    </Dialog>
  );
}

type State = NonNullable<ReturnType<typeof useCommand>["data"]>["before"];

/** What of a page a change touched, as it stood. */
function textOfState({ page, nodes }: State): string {
  const head = Object.entries(page ?? {}).map(([name, value]) => `${name}: ${String(value)}`);
  const lines = (nodes ?? []).map((node) => `${node.kind}: ${node.text}`);
  return [...head, ...lines].join("\n");
}
