import { useRef, useState } from "react";
import { Link } from "wouter";
import { Refused } from "../api.ts";
import { useCardMoves } from "../card/use-card-moves.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { later } from "../parts/later.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Closed, Failure, Waiting } from "../parts/states.tsx";
import { useRunTree } from "../queries.ts";
import { RunHead } from "../run/run-head.tsx";
import { SayingNow } from "../run/saying.tsx";
import { isLive } from "../run/standing.ts";
import { SteerBox } from "../run/steer-box.tsx";
import { Steers } from "../run/steers.tsx";
import { textOf } from "../run/text-of.ts";
import { isMeant, Tree } from "../run/tree.tsx";
import { isAddress, useHash } from "../parts/use-hash.ts";
import { words } from "../words.ts";
import "./run.css";

const ToolModes = later(async () => (await import("../admin/tool-modes.tsx")).ToolModes);

/** A run's whole story: what was said, what was called, what a person decided, and what may be said to it now. */
export function RunPage({ id }: { readonly id: string }) {
  const hash = useHash();
  const [around, setAround] = useState("");
  const tree = useRunTree(id, around);
  const { data, error, refetch, hasNextPage, fetchNextPage, hasPreviousPage, fetchPreviousPage } = tree;
  const story = useRef<HTMLDivElement>(null);
  const [areToolsOpen, setToolsOpen] = useState(false);
  useCardMoves(story);

  // Also where it was read before: what was closed since is not shown any longer.
  if (error instanceof Refused && error.problem.code === "closed_run") {
    return (
      <>
        <WayBack />
        <h1 className="unseen">{words.runs.one}</h1>
        <Closed title={words.runs.closedTitle} error={error} hint={words.runs.closedHint} />
      </>
    );
  }
  const last = data?.pages.at(-1);
  if (data === undefined || last === undefined) {
    return (
      <>
        <h1 className="unseen">{words.runs.one}</h1>
        {error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />}
      </>
    );
  }
  const { run } = last;
  const entries = data.pages.flatMap((page) => page.entries);
  const isPart = hasNextPage || hasPreviousPage;
  if (isPart && around !== hash && isAddress(hash) && !entries.some((entry) => isMeant(entry, hash))) setAround(hash);
  const output = run.finishedAt === null ? "" : textOf(run.output);
  const lastSaid = textOf(last.entries.findLast((entry) => entry.kind === "assistant")?.content);
  return (
    <>
      <WayBack />
      <RunHead run={run} />
      <div ref={story} className="story">
        <h2 className="unseen">{words.runs.tree}</h2>
        {hasPreviousPage && (
          <p className="more">
            <button type="button" disabled={tree.isFetchingPreviousPage} onClick={() => void fetchPreviousPage()}>
              {words.runs.loadBefore}
            </button>
          </p>
        )}
        <Tree runId={id} entries={entries} steers={last.steers} />
        <SayingNow runId={id} isRunning={run.status === "running" && !hasNextPage} />
        {hasNextPage && (
          <p className="more">
            <button type="button" disabled={tree.isFetchingNextPage} onClick={() => void fetchNextPage()}>
              {words.runs.loadMore}
            </button>
          </p>
        )}
      </div>
      <details className="run-tools" onToggle={(event) => setToolsOpen(event.currentTarget.open)}>
        <summary>{words.admin.rules.tools}</summary>
        {areToolsOpen && <ToolModes scope={{ scope: "run", id }} />}
      </details>
      <Steers steers={last.steers} />
      {isLive(run) ? (
        <SteerBox run={run} />
      ) : (
        <section className="run-end">
          {run.endReason !== null && (
            <p>
              <ExactLine text={words.runs.ended(run.endReason)} />
            </p>
          )}
          {output !== "" && output !== lastSaid && (
            <>
              <h2>{words.runs.output}</h2>
              <Markdown text={output} />
            </>
          )}
        </section>
      )}
    </>
  );
}

function WayBack() {
  return (
    <p className="way-back">
      <Link href="/runs">← {words.runs.all}</Link>
    </p>
  );
}
