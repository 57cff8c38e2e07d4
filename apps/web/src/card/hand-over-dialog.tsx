import { useMemo, useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { ChoiceField, Form } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { useMe, usePeople } from "../queries.ts";
import { momentIn } from "../server-clock.ts";
import { words } from "../words.ts";

const names = words.card;

interface Props {
  /** The approval that is handed over; without it, all that one may decide. */
  readonly approvalId?: string;
  readonly onClose: () => void;
}

/** Lets somebody else decide on one's own say, for a time. */
export function HandOverDialog({ approvalId, onClose }: Props) {
  const me = useMe();
  const people = usePeople();
  const [to, setTo] = useState("");
  const [ms, setMs] = useState<keyof typeof names.spans>("86400000");
  // From when it was chosen: sent again after a lost answer it is the same.
  const until = useMemo(() => momentIn(Number(ms)), [ms]);
  const [given, setGiven] = useState<string>();
  const isAll = approvalId === undefined;
  const hand = useAct(
    isAll ? "delegations" : "tasks",
    () => ask(api.delegations.$post({ json: { to, until, ...(isAll ? {} : { approvalId }) } })),
    (delegation) => setGiven(delegation.to.name),
  );
  const others = people.data?.filter(({ id }) => id !== me.data?.id) ?? [];
  return (
    <Dialog title={names.handOverTitle} onClose={onClose}>
      {given !== undefined ? (
        <>
          <p role="status">
            <ExactLine text={isAll ? names.handedOverAll(given) : names.handedOver(given)} />
          </p>
          <div className="buttons">
            <button type="button" onClick={onClose}>
              {words.keys.close}
            </button>
          </div>
        </>
      ) : (
        <Form
          submit={names.handOverDo}
          isBusy={hand.isPending || to === ""}
          error={hand.error ?? people.error}
          onSubmit={() => hand.mutate(undefined)}
          onCancel={onClose}
        >
          <p>{isAll ? names.handOverAllLead : names.handOverLead}</p>
          <ChoiceField
            label={names.handOverTo}
            value={to}
            choices={{ "": "…", ...Object.fromEntries(others.map(({ id, name }) => [id, name])) }}
            onChange={setTo}
          />
          <ChoiceField label={names.handOverUntil} value={ms} choices={names.spans} onChange={setMs} />
        </Form>
      )}
    </Dialog>
  );
}
