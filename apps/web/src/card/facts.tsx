import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Task } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { HeldFact } from "../parts/thrown-by.tsx";
import { Time } from "../parts/time.tsx";
import { useTools } from "../queries.ts";
import { words } from "../words.ts";
import type { CardBody } from "./read-card.ts";

/** Whose it is, until when, and what a decision is bound to. */
export function Facts({ task, body }: { readonly task: Task; readonly body: CardBody }) {
  const { approval, question, run } = task;
  const names = words.card.facts;
  const expiresAt = approval?.expiresAt ?? question?.expiresAt ?? null;
  const heldBy = approval?.heldBy ?? question?.heldBy ?? null;
  const step = approval?.callId ?? question?.callId;
  const isOpen = task.status === "open";
  const ifNot = question?.defaultAnswer == null ? undefined : words.card.ifNot(question.defaultAnswer);
  return (
    <dl className="facts">
      <HeldFact heldBy={heldBy} meaning={words.card.held} />
      {run !== null && (
        <>
          <Fact name={names.agent}>
            <ExactLine text={run.definition} />
          </Fact>
          <Fact name={names.run}>
            <Link href={`/runs/${run.id}${step === undefined ? "" : `#call-${step}`}`}>
              <ExactLine text={run.title} />
            </Link>
          </Fact>
          <Fact name={names.startedBy}>
            <ExactLine text={run.startedBy} />
          </Fact>
        </>
      )}
      {body.requires.length > 0 && (
        <Fact name={names.reaches}>
          <ExactLine text={body.requires.join(", ")} />
        </Fact>
      )}
      {approval !== null && <ToolFacts name={approval.tool} />}
      {approval?.escalatedAt != null && (
        <Fact name={names.escalated}>
          <Time at={approval.escalatedAt} />
        </Fact>
      )}
      {isOpen && expiresAt !== null && (
        <Fact name={names.expires}>
          <Time at={expiresAt} />, <ExactLine text={ifNot ?? words.card.ifNotDenied} />
        </Fact>
      )}
      {approval !== null && (approval.quorum ?? 1) > 1 && (
        <Fact name={names.votes}>
          {words.card.votes(approval.votes.length, approval.quorum)}
          {approval.votes.map(({ by, sayOf }) => (
            <span key={`${by.id} ${sayOf?.id}`}>
              {" · "}
              <ExactLine text={sayOf === null ? by.name : words.card.onSayOf(by.name, sayOf.name)} />
            </span>
          ))}
        </Fact>
      )}
      {approval !== null && isOpen && (approval.equal ?? 0) > 0 && (
        <Fact name={names.equal}>{words.card.equal(approval.equal)}</Fact>
      )}
      {approval !== null && approval.isClosed !== true && (
        <Fact name={names.digest}>
          <code className="digest">
            <ExactLine text={approval.argsDigest} />
          </code>
        </Fact>
      )}
    </dl>
  );
}

/** What the tool says of itself, where the server knows it. */
function ToolFacts({ name }: { readonly name: string }) {
  const tool = useTools().data?.tools.find((one) => one.name === name);
  const names = words.card.facts;
  const server = /^mcp__(.+?)__/.exec(name)?.[1];
  return (
    <>
      {server !== undefined && (
        <Fact name={names.origin}>
          <ExactLine text={server} />
        </Fact>
      )}
      {tool !== undefined && tool.timeoutMs !== null && <Fact name={names.timeout}>{tool.timeoutMs / 1_000} s</Fact>}
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
