import type { RunTree } from "../api.ts";
import { ExactLine, ExactText } from "../parts/exact-text.tsx";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";
import { textOf } from "./text-of.ts";

/** What people said to the run, and whether it has heard it. */
export function Steers({ steers }: { readonly steers: RunTree["steers"] }) {
  if (steers.length === 0) return null;
  return (
    <ul className="steers" aria-label={words.runs.steers.title}>
      {steers.map((steer) => (
        <li key={steer.n} className={steer.state}>
          <p className="label">
            <ExactLine text={steer.author.name} /> · <Standing steer={steer} /> <Time at={steer.sentAt} />
          </p>
          {/* What was delivered stands in the story, where the run read it. */}
          {steer.state !== "read" && <ExactText text={textOf(steer.message)} />}
        </li>
      ))}
    </ul>
  );
}

function Standing({ steer: { state, readSeq } }: { readonly steer: RunTree["steers"][number] }) {
  if (state !== "read" || readSeq === null)
    return state === "queued" ? words.runs.steers.queued : words.runs.steers.ended_first;
  return <a href={`#step-${readSeq}`}>{words.runs.steers.read(readSeq)}</a>;
}
