import { useState } from "react";
import { api, type Approval, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ChoiceField, Form } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { momentIn } from "../server-clock.ts";
import { words } from "../words.ts";

/** Gives an approval more time before it expires. */
export function MoreTimeDialog({ approval, onClose }: { readonly approval: Approval; readonly onClose: () => void }) {
  const [ms, setMs] = useState<keyof typeof words.card.spans>("86400000");
  const extend = useAct(
    "tasks",
    () => {
      const until = momentIn(Number(ms));
      return ask(api.approvals[":id"].extension.$post({ param: { id: approval.id }, json: { until } }));
    },
    onClose,
  );
  return (
    <Dialog title={words.card.moreTimeTitle} onClose={onClose}>
      <Form
        submit={words.card.moreTimeTitle}
        isBusy={extend.isPending}
        error={extend.error}
        onSubmit={() => extend.mutate(undefined)}
        onCancel={onClose}
      >
        <ChoiceField label={words.card.moreTimeLead} value={ms} choices={words.card.spans} onChange={setMs} />
      </Form>
    </Dialog>
  );
}
