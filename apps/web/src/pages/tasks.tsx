import { useCallback, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { useCardMoves } from "../card/use-card-moves.ts";
import { Empty, Failure, Waiting } from "../parts/states.tsx";
import { taskStatuses, useMe, useTasks } from "../queries.ts";
import { words } from "../words.ts";
import { NewTask } from "./new-task.tsx";
import { QueueCard } from "./queue-card.tsx";
import { useSteadyList } from "./use-steady-list.ts";
import "./tasks.css";

const kinds = ["", "approval", "question", "outcome", "task"] as const;

/**
 * The queue: every card that waits, oldest first. What comes is added at the end and what is settled stays where it stands
 * until one clears it, so nothing moves under a hand that is about to decide.
 */
export function Tasks() {
  const [search, setSearch] = useSearchParams();
  const status = taskStatuses.find((one) => one === search.get("status")) ?? "open";
  const kind = kinds.find((one) => one === search.get("kind")) ?? "";
  const { query, found } = useTasks(status, kind);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const me = useMe();
  const [isMaking, setMaking] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const { shown, arrived, settledCount, clear } = useSteadyList(found, `${status} ${kind}`, data?.pages.length ?? 0);
  const standing = new Set(found?.map(({ id }) => id));
  const newOnes = new Set(arrived.map(({ id }) => id));
  const readMore = useCallback(async () => {
    if (hasNextPage) await fetchNextPage();
    return hasNextPage;
  }, [hasNextPage, fetchNextPage]);
  useCardMoves(list, readMore);

  /** Every filter is in the address; what is as usual is left out of it. */
  const show = (next: { readonly kind?: string; readonly status?: string }): void => {
    const all = { kind, status, ...next };
    setSearch({
      ...(all.kind === "" ? {} : { kind: all.kind }),
      ...(all.status === "open" ? {} : { status: all.status }),
    });
  };

  return (
    <>
      <div className="page-head">
        <h1>{words.tasks.titles[status]}</h1>
        <nav className="filters" aria-label={words.tasks.kind}>
          {kinds.map((one) => (
            <button key={one} type="button" aria-pressed={kind === one} onClick={() => show({ kind: one })}>
              {words.tasks.kinds[one]}
            </button>
          ))}
        </nav>
        <select
          className="pick"
          aria-label={words.tasks.status}
          value={status}
          onChange={(event) => show({ status: event.target.value })}
        >
          {taskStatuses.map((one) => (
            <option key={one} value={one}>
              {words.tasks.statuses[one]}
            </option>
          ))}
        </select>
        {me.data !== undefined && me.data.role !== "viewer" && (
          <button type="button" onClick={() => setMaking(true)}>
            {words.tasks.new}
          </button>
        )}
      </div>
      {isMaking && <NewTask onClose={() => setMaking(false)} />}
      {settledCount > 0 && (
        <p className="list-note">
          <button type="button" className="quiet" onClick={clear}>
            {words.tasks.settledHere(settledCount)}
          </button>
        </p>
      )}
      {shown.length > 0 ? (
        <ul ref={list} className="cards">
          {shown.map((task) => (
            <li key={task.id}>
              <QueueCard task={task} isGone={!standing.has(task.id)} isNew={newOnes.has(task.id)} />
            </li>
          ))}
        </ul>
      ) : found === undefined || hasNextPage ? (
        error === null ? (
          <Waiting />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : kind === "" && status === "open" ? (
        <Empty title={words.tasks.empty}>
          <p>{words.tasks.emptyHint}</p>
        </Empty>
      ) : (
        <Empty title={words.tasks.filteredEmpty}>
          <button type="button" onClick={() => show({ kind: "", status: "open" })}>
            {words.tasks.clearFilter}
          </button>
        </Empty>
      )}
      {hasNextPage && shown.length > 0 && (
        <p className="more">
          <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {words.tasks.more}
          </button>
        </p>
      )}
    </>
  );
}
