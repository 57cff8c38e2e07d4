import { useMemo } from "react";
import type { Approval } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { layJson } from "../parts/lay-json.ts";
import { isLong, LongText } from "../parts/long-text.tsx";
import { words } from "../words.ts";
import { Diff } from "./diff.tsx";
import type { CardBody } from "./read-card.ts";

/** All that a call would do: what exactly it touches, what would change, and its arguments, whole. */
export function CallBody({ approval, body }: { readonly approval: Approval; readonly body: CardBody }) {
  const { gateRow, gateReason, editedArgs } = approval;
  const reasons = [gateReason, ...body.floorReasons.filter((reason) => reason !== gateReason)];
  const why = words.card.rows[gateRow];
  const args = useMemo(() => layJson(approval.args), [approval.args]);
  const hasRest = Object.keys(body.rest).length > 0;
  return (
    <div className="call">
      <p className="why">
        <span className="label">{words.card.why}</span> {why !== undefined && `${why} · `}
        <code>
          <ExactLine text={reasons.join(", ")} />
        </code>{" "}
        <span className="fine">{words.card.row(gateRow)}</span>
      </p>
      {body.known !== undefined && <Part label={words.card.known} text={body.known} />}
      {body.definitionChange !== undefined && (
        <section>
          <h3 className="label">{words.card.definitionChange}</h3>
          <Part label={words.card.before} text={body.definitionChange.before} />
          <Part label={words.card.after} text={body.definitionChange.after} />
        </section>
      )}
      {body.message !== undefined && <LongText text={body.message} fileName="message.txt" />}
      <Lines label={words.card.details} lines={body.details} />
      <Lines label={words.card.lookalikes} lines={body.lookalikes} />
      <Lines label={words.card.units} lines={body.units} isCode />
      {body.preview !== undefined && <Diff text={body.preview} />}
      <section>
        <h3 className="label">{words.card.args}</h3>
        <LongText text={args} fileName={`${approval.tool}-arguments.json`} />
      </section>
      {linesOf(approval.args).map(([name, text]) => (
        <Part key={name} label={words.card.asLines(name)} text={text} />
      ))}
      {editedArgs !== null && editedArgs !== undefined && <Part label={words.card.edited} text={layJson(editedArgs)} />}
      <Lines
        label={words.card.preconditions}
        lines={body.preconditions.map(({ kind, name, hash }) => `${kind} ${name} (${hash.slice(0, 12)})`)}
      />
      {hasRest && <Part label={words.card.more} text={JSON.stringify(body.rest, undefined, 2)} />}
      {body.narration !== undefined && (
        <aside className="narration">
          <h3 className="label">{words.card.narration}</h3>
          <LongText text={body.narration} fileName="narration.txt" />
        </aside>
      )}
    </div>
  );
}

/** Texts of several lines among the arguments, by their names: in JSON their line ends are hard to read. */
function linesOf(args: string): readonly (readonly [string, string])[] {
  if (isLong(args)) return [];
  try {
    const parsed: unknown = JSON.parse(args);
    if (typeof parsed !== "object" || parsed === null) return [];
    return Object.entries(parsed).flatMap(([name, value]) =>
      typeof value === "string" && value.includes("\n") ? [[name, value] as const] : [],
    );
  } catch {
    return [];
  }
}

function Part({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <section>
      <h3 className="label">
        <ExactLine text={label} />
      </h3>
      <LongText text={text} fileName="card.txt" />
    </section>
  );
}

function Lines({
  label,
  lines,
  isCode = false,
}: {
  readonly label: string;
  readonly lines: readonly string[];
  readonly isCode?: boolean;
}) {
  if (lines.length === 0) return null;
  const all = lines.join("\n");
  if (isLong(all)) return <Part label={label} text={all} />;
  return (
    <section>
      <h3 className="label">{label}</h3>
      <ul className={isCode ? "lines code" : "lines"}>
        {lines.map((line, n) => (
          <li key={n}>
            <ExactLine text={line} />
          </li>
        ))}
      </ul>
    </section>
  );
}
