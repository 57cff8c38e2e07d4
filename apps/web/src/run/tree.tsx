import type { Call, RunTree } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { LongText } from "../parts/long-text.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";
import { CallNode } from "./call-node.tsx";
import { textOf } from "./text-of.ts";

type Entry = RunTree["entries"][number];

/** The story in order: what was said by whom, and under each turn of the model the calls it asked for. */
export function Tree({ entries, steers }: { readonly entries: readonly Entry[]; readonly steers: RunTree["steers"] }) {
  const readAt = new Set(steers.map((steer) => steer.readSeq));
  return (
    <ol className="tree">
      {entries.map((entry) => (
        <li key={entry.seq} id={`step-${entry.seq}`} className={`entry ${entry.kind.replace(".", "-")}`}>
          <EntryText entry={entry} isSteer={entry.kind === "user" && readAt.has(entry.seq)} />
          {entry.calls.length > 0 && (
            <ol className="calls">
              {entry.calls.map((call: Call) => (
                <li key={call.id}>
                  <CallNode call={call} />
                </li>
              ))}
            </ol>
          )}
        </li>
      ))}
    </ol>
  );
}

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
