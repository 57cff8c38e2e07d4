import { ExactLine } from "../parts/exact-text.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { words } from "../words.ts";
import { useSaying } from "./use-saying.ts";

/** What the model is saying now. The recorded turn takes its place; nothing rests on it. */
export function SayingNow({ runId, isRunning }: { readonly runId: string; readonly isRunning: boolean }) {
  const saying = useSaying(runId, isRunning);
  if (saying === undefined) return null;
  const { text, thinking, tools, trouble } = saying;
  if (trouble !== null) {
    return (
      <p className="fine" role="status">
        {words.runs.noAnswer} <ExactLine text={trouble} />
      </p>
    );
  }
  if (text === "" && thinking === "" && tools.length === 0) return null;
  return (
    <section className="saying" aria-busy="true" aria-label={words.runs.saying}>
      <p className="label">{words.runs.saying}</p>
      {thinking !== "" && text === "" && (
        <p className="fine">
          <ExactLine text={thinking.slice(-400)} />
        </p>
      )}
      {text !== "" && <Markdown text={text} />}
      {tools.length > 0 && (
        <p className="fine">
          {words.runs.calls} <ExactLine text={tools.join(", ")} />
        </p>
      )}
    </section>
  );
}
