import { type ReactNode, useState } from "react";
import type { Approval } from "../api.ts";
import { ExactLine, ExactText } from "../parts/exact-text.tsx";
import { later } from "../parts/later.tsx";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";

const Receipt = later(async () => (await import("./receipt.tsx")).Receipt);

/** What was said with a decision, and its receipt for those who may read one. */
export function Afterwards({ approval }: { readonly approval: Approval }) {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const { feedback, note, decidedFor, selectedOption, scope } = approval;
  const mayRead = me.data?.role === "approver" || me.data?.role === "admin";
  return (
    <>
      <dl className="facts">
        {decidedFor != null && (
          <Said name={words.card.facts.decidedFor}>
            <ExactLine text={decidedFor.name} />
          </Said>
        )}
        {scope != null && scope !== "once" && <Said name={words.card.facts.scope}>{words.card.scopes[scope]}</Said>}
        {selectedOption != null && (
          <Said name={words.card.facts.chosen}>
            <ExactLine text={selectedOption} />
          </Said>
        )}
      </dl>
      {feedback !== null && <Text name={words.card.feedback} text={feedback} />}
      {note !== null && <Text name={words.card.note} text={note} />}
      {mayRead && (
        <details className="say-more" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{words.card.receipt.title}</summary>
          {isOpen && <Receipt approvalId={approval.id} />}
        </details>
      )}
    </>
  );
}

function Said({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Text({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <section className="call">
      <h3 className="label">{name}</h3>
      <ExactText text={text} />
    </section>
  );
}
