import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Approval, Call } from "../api.ts";
import { Card } from "../card/card.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { layJson } from "../parts/lay-json.ts";
import { LongText } from "../parts/long-text.tsx";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";
import { taskOfApproval, taskOfQuestion } from "./task-of.ts";
import { textOf } from "./text-of.ts";
import { useHash } from "../parts/use-hash.ts";

/** A call: in one line how it stands, the card of what waits for a person, and all there is to know of it behind a click. */
export function CallNode({ runId, call }: { readonly runId: string; readonly call: Call }) {
  const element = useRef<HTMLDetailsElement>(null);
  const id = `call-${call.id}`;
  const isMeant = useHash() === `#${id}`;
  // A long story has thousands of calls, of which one looks at a few.
  const [isOpen, setOpen] = useState(isMeant);
  const [wasMeant, setWasMeant] = useState(isMeant);
  if (isMeant !== wasMeant) {
    setWasMeant(isMeant);
    if (isMeant) setOpen(true);
  }
  const cards = useCards(call);
  const isAsking = call.approvals.some((approval) => approval.status === "pending") || call.question?.status === "open";

  useEffect(() => {
    if (isMeant) element.current?.scrollIntoView({ block: "center" });
  }, [isMeant]);

  return (
    <div className={`call-node ${call.status}`}>
      <details ref={element} id={id} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span className="call-sign" aria-hidden="true">
            {isAsking ? "⚑" : (signs[call.status] ?? "·")}
          </span>
          <span className="call-tool">
            <ExactLine text={call.tool} />
          </span>
          <span className="call-args">
            <ExactLine text={call.args.slice(0, 160)} />
          </span>
          <span className="call-status">{isAsking ? words.runs.call.waiting : call.status}</span>
        </summary>
        {isOpen && <CallDetail runId={runId} call={call} cards={cards} link={`#${id}`} />}
      </details>
      {cards.map((approval) => (
        <Card key={approval.id} task={taskOfApproval(approval)} place="run" />
      ))}
      {call.question !== null && <Card task={taskOfQuestion(call.question)} place="run" />}
    </div>
  );
}

/**
 * The approvals whose cards stand on the node: those that wait, and those that waited while one looked. A card that is
 * settled says so where it stands.
 */
function useCards({ approvals }: Call): readonly Approval[] {
  const [met, setMet] = useState<ReadonlySet<string>>(new Set());
  const isNew = ({ id, status }: Approval): boolean => status === "pending" && !met.has(id);
  if (approvals.some(isNew)) setMet(new Set([...met, ...approvals.filter(isNew).map(({ id }) => id)]));
  return approvals.filter((approval) => approval.status === "pending" || met.has(approval.id));
}

const signs: Readonly<Record<string, string>> = {
  requested: "…",
  executing: "▸",
  done: "✔",
  failed: "✘",
  denied: "⊘",
  unknown: "?",
  canceled: "■",
};

function CallDetail({
  runId,
  call,
  cards,
  link,
}: {
  readonly runId: string;
  readonly call: Call;
  readonly cards: readonly Approval[];
  readonly link: string;
}) {
  const names = words.runs.call;
  const settled = call.approvals.filter((approval) => !cards.includes(approval));
  const args = useMemo(() => layJson(call.args), [call.args]);
  const wholeAt = call.resultBlob === null ? undefined : `/v1/runs/${runId}/calls/${call.id}/result`;
  const tookMs =
    call.startedAt === null || call.finishedAt === null
      ? undefined
      : new Date(call.finishedAt).getTime() - new Date(call.startedAt).getTime();
  return (
    <div className="call-detail">
      <dl className="facts">
        <Fact name={names.verdict}>
          {call.verdict}, <ExactLine text={call.gateReason} /> ({words.card.row(call.gateRow)})
        </Fact>
        {tookMs !== undefined && (
          <Fact name={names.took}>
            {tookMs < 1_000 ? `${tookMs} ms` : `${(tookMs / 1_000).toFixed(1)} s`}
            {call.attempt > 1 && `, ${names.attempt(call.attempt)}`}
          </Fact>
        )}
        {call.waitsOn !== null && <Fact name={names.waitsOn}>{words.runs.waitsOn[call.waitsOn] ?? call.waitsOn}</Fact>}
        {call.requires.length > 0 && (
          <Fact name={names.requires}>
            <ExactLine text={call.requires.join(", ")} />
          </Fact>
        )}
        {call.resultCode !== null && <Fact name={names.code}>{call.resultCode}</Fact>}
      </dl>
      {call.approvals.length === 0 && (
        <section>
          <h3 className="label">{names.args}</h3>
          <LongText text={args} fileName={`${call.tool}-arguments.json`} />
        </section>
      )}
      {call.result !== null && call.result !== undefined && (
        <section>
          <h3 className="label">{names.result}</h3>
          <LongText text={textOf(call.result)} fileName={`${call.tool}-result.txt`} wholeAt={wholeAt} />
          {call.resultBlob !== null && (
            <p className="fine">
              {names.blob} <code>sha256:{call.resultBlob}</code>
            </p>
          )}
        </section>
      )}
      {call.log.length > 0 && (
        <section>
          <h3 className="label">{names.log}</h3>
          <ul className="lines">
            {call.log.map((line) => (
              <li key={line.seq}>
                <Time at={line.at} /> <span className="fine">{line.kind}</span>{" "}
                <ExactLine text={textOf(line.content)} />
                {line.actorName !== null && (
                  <span className="fine">
                    {" "}
                    <ExactLine text={line.actorName} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      {settled.map((approval) => (
        <Card key={approval.id} task={taskOfApproval(approval)} place="run" />
      ))}
      <p className="fine">
        <a href={link}>{names.link}</a>
      </p>
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
