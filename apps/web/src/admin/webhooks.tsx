import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Empty, Refusal } from "../parts/states.tsx";
import { Found } from "../parts/found.tsx";
import { Time } from "../parts/time.tsx";
import { readAll } from "../queries.ts";
import { words } from "../words.ts";
import { Form, TextField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { ToldOnce } from "./told-once.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.webhooks;

/** Who is told of what, and what became of each telling. */
export function Webhooks() {
  const query = useQuery({
    queryKey: ["webhooks"],
    queryFn: async () => {
      const pages = await readAll((asked) => ask(api.webhooks.$get({ query: asked })));
      return { webhooks: pages.flatMap((page) => page.webhooks) };
    },
  });
  const [isMaking, setMaking] = useState(false);
  const [shown, setShown] = useState<string>();
  const remove = useAct("webhooks", (id: string) => ask(api.webhooks[":id"].$delete({ param: { id } })));
  return (
    <Section
      title={words.admin.sections.webhooks}
      lead={names.lead}
      query={query}
      action={
        <button type="button" className="primary" onClick={() => setMaking(true)}>
          {names.new}
        </button>
      }
    >
      {({ webhooks }) => (
        <>
          {webhooks.length === 0 && <Empty title={words.admin.none} />}
          <Refusal error={remove.error} />
          <table className="table">
            <tbody>
              {webhooks.map((hook) => (
                <tr key={hook.id}>
                  <td>
                    <ExactLine text={hook.url} />{" "}
                    {hook.disabledAt !== null && (
                      <span className="fine">
                        {names.disabled} <ExactLine text={hook.disabledReason ?? ""} />
                      </span>
                    )}
                  </td>
                  <td className="fine">{hook.events.join(", ")}</td>
                  <RowActs>
                    <RowAct of={hook.url} onPress={() => setShown(hook.id)}>
                      {names.deliveries}
                    </RowAct>
                    <RowAct of={hook.url} isDangerous onPress={() => remove.mutate(hook.id)}>
                      {words.admin.remove}
                    </RowAct>
                  </RowActs>
                </tr>
              ))}
            </tbody>
          </table>
          {isMaking && <NewWebhook onClose={() => setMaking(false)} />}
          {shown !== undefined && <Deliveries id={shown} onClose={() => setShown(undefined)} />}
        </>
      )}
    </Section>
  );
}

function NewWebhook({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState<string>();
  const make = useAct(
    "webhooks",
    () => ask(api.webhooks.$post({ header: {}, json: { url } })),
    (made) => setSecret(made.secret),
  );
  return (
    <Dialog title={names.new} onClose={onClose}>
      {secret !== undefined ? (
        <ToldOnce lead={names.secretOnce} value={secret} lost={names.secretLost} onClose={onClose} />
      ) : (
        <Form
          submit={words.admin.save}
          isBusy={make.isPending}
          error={make.error}
          onSubmit={() => make.mutate(undefined)}
          onCancel={onClose}
        >
          <TextField label={names.url} value={url} onChange={setUrl} type="url" isRequired />
        </Form>
      )}
    </Dialog>
  );
}

function Deliveries({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery({
    queryKey: ["webhooks", id, "deliveries"],
    queryFn: () => ask(api.webhooks[":id"].deliveries.$get({ param: { id }, query: {} })),
  });
  const again = useAct("webhooks", (delivery: string) =>
    ask(api.webhooks.deliveries[":id"].redeliver.$post({ param: { id: delivery }, header: {} })),
  );
  return (
    <Dialog title={names.deliveries} onClose={onClose}>
      <Found query={query}>
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <Empty title={words.admin.none} />
          ) : (
            <table className="table">
              <tbody>
                {deliveries.map((delivery) => (
                  <tr key={delivery.id}>
                    <td>
                      <code>{delivery.event}</code>
                    </td>
                    <td>{delivery.status}</td>
                    <td>
                      <Time at={delivery.createdAt} />
                    </td>
                    <td>
                      <button type="button" disabled={again.isPending} onClick={() => again.mutate(delivery.id)}>
                        {names.again}
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Found>
      <Refusal error={again.error} />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {words.keys.close}
        </button>
      </div>
    </Dialog>
  );
}
