import { memo, useEffect, useRef, useState } from "react";
import type { RunTree } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { LongText } from "../parts/long-text.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Time } from "../parts/time.tsx";
import { visibleText } from "../parts/visible.ts";
import { words } from "../words.ts";
import { CallNode } from "./call-node.tsx";
import { textOf } from "./text-of.ts";

export type Entry = RunTree["entries"][number];

interface Props {
  readonly runId: string;
  readonly entry: Entry;
  /** A person's message that the run read here. */
  readonly isSteer: boolean;
  /** Drawn as soon as it is there; else when it comes near to what is in sight, and its text stands for it until then. */
  readonly isDrawn: boolean;
}

/** A step of the story: what was said, and the calls that were asked for with it. */
export const EntryNode = memo(function EntryNode({ runId, entry, isSteer, isDrawn }: Props) {
  const element = useRef<HTMLLIElement>(null);
  const [wasDrawn, setDrawn] = useState(isDrawn);
  if (isDrawn && !wasDrawn) setDrawn(true);

  useEffect(() => {
    const li = element.current;
    if (li === null || wasDrawn) return;
    const onNear = (event: Event): void => {
      if (event instanceof ContentVisibilityAutoStateChangeEvent && !event.skipped) setDrawn(true);
    };
    li.addEventListener("contentvisibilityautostatechange", onNear);
    return () => li.removeEventListener("contentvisibilityautostatechange", onNear);
  }, [wasDrawn]);

  return (
    <li
      ref={element}
      id={`step-${entry.seq}`}
      className={`entry ${entry.kind.replace(".", "-")} ${isAsking(entry) ? "asks" : ""}`}
    >
      {wasDrawn ? (
        <>
          <EntryText entry={entry} isSteer={isSteer} />
          {entry.calls.length > 0 && (
            <ol className="calls">
              {entry.calls.map((call) => (
                <li key={call.id}>
                  <CallNode runId={runId} call={call} />
                </li>
              ))}
            </ol>
          )}
        </>
      ) : (
        <p className="entry-plain">{plainText(entry)}</p>
      )}
    </li>
  );
});

/** Something in it waits for a person. */
export function isAsking({ calls }: Entry): boolean {
  return calls.some(
    ({ approvals, question }) =>
      question?.status === "open" || approvals.some((approval) => approval.status === "pending"),
  );
}

/** All that can be looked for in an entry that is not drawn yet. */
function plainText(entry: Entry): string {
  const calls = entry.calls.map(({ tool, args, status }) => `${tool} ${args.slice(0, shownOfArgs)} ${status}`);
  return visibleText([textOf(entry.content).slice(0, shownOfText), ...calls].join("\n"));
}

const shownOfText = 20_000;
const shownOfArgs = 160;

function EntryText({ entry, isSteer }: { readonly entry: Entry; readonly isSteer: boolean }) {
  const text = textOf(entry.content);
  const who = entry.kind === "assistant" ? words.runs.said : (entry.actorName ?? entry.actor ?? entry.kind);
  const isSpoken = entry.kind === "assistant" || entry.kind === "user";
  if (!isSpoken) {
    return (
      <p className="event">
        <span className="label">{entry.kind}</span> <ExactLine text={text} /> <Time at={entry.at} />
      </p>
    );
  }
  if (text === "") return null;
  return (
    <div className="said">
      <p className="label">
        <ExactLine text={who} /> <Time at={entry.at} />
        {isSteer && ` · ${words.runs.steers.read(entry.seq)}`}
      </p>
      {entry.kind === "assistant" ? <Markdown text={text} /> : <LongText text={text} fileName="message.txt" />}
    </div>
  );
}
