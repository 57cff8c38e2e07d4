import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Approval, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";

const names = words.card;

/** Lets somebody else decide this approval on one's own say. Only administrators see who there is; others name an id. */
export function HandOverDialog({ approval, onClose }: { readonly approval: Approval; readonly onClose: () => void }) {
  const me = useMe();
  const isAdmin = me.data?.role === "admin";
  const users = useQuery({ queryKey: ["users"], queryFn: () => ask(api.users.$get({ query: {} })), enabled: isAdmin });
  const [to, setTo] = useState("");
  const [ms, setMs] = useState<keyof typeof names.spans>("86400000");
  const [given, setGiven] = useState<string>();
  const hand = useAct(
    "tasks",
    () => {
      const until = new Date(Date.now() + Number(ms)).toISOString();
      return ask(api.delegations.$post({ json: { to: to.trim(), approvalId: approval.id, until } }));
    },
    (delegation) => setGiven(delegation.to.name),
  );
  const people = (users.data?.users ?? []).filter(
    (user) => user.id !== me.data?.id && !user.isService && user.disabledAt === null,
  );
  return (
    <Dialog title={names.handOverTitle} onClose={onClose}>
      {given !== undefined ? (
        <>
          <p role="status">{names.handedOver(given)}</p>
          <div className="buttons">
            <button type="button" onClick={onClose}>
              {words.keys.close}
            </button>
          </div>
        </>
      ) : (
        <Form
          submit={names.handOverDo}
          isBusy={hand.isPending || to.trim() === ""}
          error={hand.error}
          onSubmit={() => hand.mutate(undefined)}
          onCancel={onClose}
        >
          <p>{names.handOverLead}</p>
          {isAdmin ? (
            <ChoiceField
              label={names.handOverTo}
              value={to}
              choices={{ "": "…", ...Object.fromEntries(people.map(({ id, name }) => [id, name])) }}
              onChange={setTo}
            />
          ) : (
            <TextField label={names.handOverId} value={to} onChange={setTo} isCode isRequired />
          )}
          <ChoiceField label={names.handOverUntil} value={ms} choices={names.spans} onChange={setMs} />
        </Form>
      )}
    </Dialog>
  );
}
