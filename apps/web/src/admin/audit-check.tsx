import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { InferResponseType } from "hono/client";
import { type Answer, api, ask } from "../api.ts";
import { download } from "../parts/download.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";

type Check = Answer<InferResponseType<typeof api.audit.checks.$get>>["checks"][number];
type Report = NonNullable<Check["report"]>;

const names = words.admin.audit.check;

/** Has every row compared with what was sealed, by a worker, and says what came of it and what it cannot see. */
export function AuditCheck() {
  const { data } = useQuery({
    queryKey: ["audit", "checks"],
    queryFn: () => ask(api.audit.checks.$get({ query: { limit: 1 } })),
    refetchInterval: ({ state }) => (state.data?.checks[0]?.finishedAt === null ? 1_000 : false),
  });
  const start = useAct("audit", () => ask(api.audit.checks.$post({ header: {} })));
  const check = data?.checks[0];
  const isUnderWay = check?.finishedAt === null;
  return (
    <section className="admin-part">
      <div className="page-head">
        <h2>{names.title}</h2>
        <button
          type="button"
          disabled={data === undefined || isUnderWay || start.isPending}
          onClick={() => start.mutate(undefined)}
        >
          {names.ask}
        </button>
      </div>
      <Refusal error={start.error} />
      {data !== undefined && <p role="status">{outcomeOf(check)}</p>}
      {isUnderWay && check.takenAt !== null && <p className="fine">{names.read(check.rowsRead)}</p>}
      {check !== undefined && check.finishedAt !== null && check.report !== null && (
        <>
          <p className="fine">
            <Time at={check.finishedAt} /> <ExactLine text={names.by(check.askedBy.name)} />
          </p>
          <Found report={check.report} />
        </>
      )}
    </section>
  );
}

function outcomeOf(check: Check | undefined) {
  if (check === undefined) return names.never;
  const { takenAt, report } = check;
  if (report === null) return takenAt === null ? names.waits : names.reading;
  if (report.broken > 0) return <strong className="verdict broken">✘ {names.broken(report.broken)}</strong>;
  if (report.sealed === 0) return names.nothing;
  return <strong className="verdict sound">✔ {names.sound(report.sealed)}</strong>;
}

function Found({ report }: { readonly report: Report }) {
  const { sealed, unsealed, end, keptHead, badLines, broken, breaks } = report;
  return (
    <>
      {breaks.length > 0 && (
        <>
          {breaks.length < broken - badLines && <p className="fine">{names.first(breaks.length)}</p>}
          <ul className="lines">
            {breaks.map(({ what, seq, message }, n) => (
              <li key={n}>
                <code>{what}</code> <ExactLine text={message} />
                {seq !== null && what === "receipt" && <span className="fine"> {words.admin.audit.seq(seq)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      {badLines > 0 && <p>{names.badLines(badLines)}</p>}
      <dl className="facts wide">
        <Fact name={names.checked}>{sealed.toLocaleString("en")}</Fact>
        {end !== null && (
          <Fact name={names.end}>
            {words.admin.audit.seq(end.seq)} <code className="digest">{end.hash}</code>
          </Fact>
        )}
        <Fact name={names.head}>
          {keptHead === null ? (
            names.noHead
          ) : (
            <>
              {words.admin.audit.seq(keptHead.seq)}, {names.signed} <Time at={keptHead.signedAt} />{" "}
              <code className="digest">{keptHead.hash}</code>
            </>
          )}
        </Fact>
      </dl>
      <h3>{names.cannot}</h3>
      <ul className="lines">
        {keptHead === null ? (
          <li>{names.noKept}</li>
        ) : (
          <>
            {end !== null && keptHead.seq < end.seq && <li>{names.afterHead(keptHead.seq)}</li>}
            <li>{names.sameHands}</li>
          </>
        )}
        {unsealed > 0 && <li>{names.waiting(unsealed)}</li>}
      </ul>
      {keptHead !== null && (
        <p>
          <button type="button" onClick={() => download(`${JSON.stringify(keptHead)}\n`, "audit-head.jsonl")}>
            {names.take}
          </button>{" "}
          <span className="fine">
            <code>{names.takeHint}</code>
          </span>
        </p>
      )}
    </>
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
