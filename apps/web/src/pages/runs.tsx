import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { ExactLine } from "../parts/exact-text.tsx";
import { Empty, Failure, Waiting } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { type RunStatus, useMe, useRuns } from "../queries.ts";
import { StandingBadge } from "../run/standing-badge.tsx";
import { StartDialog } from "../run/start-dialog.tsx";
import { words } from "../words.ts";

const statuses = ["", "queued", "running", "paused", "completed", "failed", "canceled"] as const;

/** The workspace's runs, newest first. */
export function Runs() {
  const [search, setSearch] = useSearchParams();
  const asked = search.get("status") ?? "";
  const status = statuses.find((one) => one === asked) ?? "";
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useRuns(
    status === "" ? undefined : (status satisfies RunStatus),
  );
  const me = useMe();
  const [isStarting, setStarting] = useState(false);
  const runs = data?.pages.flatMap((page) => page.runs);
  const { columns } = words.runs;

  return (
    <>
      <div className="page-head">
        <h1>{words.runs.title}</h1>
        <nav className="filters" aria-label={words.runs.status}>
          {statuses.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={status === one}
              onClick={() => setSearch(one === "" ? {} : { status: one })}
            >
              {words.runs.statuses[one]}
            </button>
          ))}
        </nav>
        {me.data !== undefined && me.data.role !== "viewer" && (
          <button type="button" className="primary" onClick={() => setStarting(true)}>
            {words.runs.start}
          </button>
        )}
      </div>
      {isStarting && <StartDialog onClose={() => setStarting(false)} />}
      {runs === undefined ? (
        error === null ? (
          <Waiting />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : runs.length === 0 ? (
        <Empty title={status === "" ? words.runs.empty : words.runs.filteredEmpty}>
          {status === "" ? (
            <p>{words.runs.emptyHint}</p>
          ) : (
            <button type="button" onClick={() => setSearch({})}>
              {words.tasks.clearFilter}
            </button>
          )}
        </Empty>
      ) : (
        <>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{columns.run}</th>
                <th scope="col">{columns.status}</th>
                <th scope="col">{columns.agent}</th>
                <th scope="col">{columns.by}</th>
                <th scope="col">{columns.at}</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.id}>
                  <td>
                    <Link href={`/runs/${run.id}`}>
                      <ExactLine text={run.title} />
                    </Link>
                    {run.isClosed === true && <span className="fine"> · {words.runs.closedMark}</span>}
                  </td>
                  <td>
                    <StandingBadge run={run} />
                  </td>
                  <td>
                    <ExactLine text={run.definition} />
                  </td>
                  <td>
                    <ExactLine text={run.startedBy.name} />
                  </td>
                  <td>
                    <Time at={run.createdAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {hasNextPage && (
            <p className="more">
              <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                {words.runs.more}
              </button>
            </p>
          )}
        </>
      )}
    </>
  );
}
