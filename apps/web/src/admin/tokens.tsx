import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Found } from "../parts/found.tsx";
import { Time } from "../parts/time.tsx";
import { Refusal } from "../parts/states.tsx";
import { readAll } from "../queries.ts";
import { words } from "../words.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { ToldOnce } from "./told-once.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.people;

interface Person {
  readonly id: string;
  readonly name: string;
  readonly isService: boolean;
}

/** What people and programs authenticate with; a value is shown once, when it is made. */
export function Tokens({ users }: { readonly users: readonly Person[] }) {
  const query = useQuery({
    queryKey: ["tokens"],
    queryFn: () => readAll((asked) => ask(api.tokens.$get({ query: asked }))),
  });
  const [isMaking, setMaking] = useState(false);
  const revoke = useAct("tokens", (id: string) => ask(api.tokens[":id"].$delete({ param: { id } })));
  return (
    <section className="admin-part">
      <div className="page-head">
        <h2>{names.tokens}</h2>
        {users.length > 0 && (
          <button type="button" onClick={() => setMaking(true)}>
            {names.newToken}
          </button>
        )}
      </div>
      <Refusal error={revoke.error} />
      <Found query={query}>
        {(pages) => (
          <table className="table">
            <tbody>
              {pages
                .flatMap((page) => page.tokens)
                .filter(({ revokedAt }) => revokedAt === null)
                .map((token) => (
                  <tr key={token.id}>
                    <td>
                      <ExactLine text={token.label} />{" "}
                      {token.kind === "session" && <span className="fine">{names.session}</span>}
                    </td>
                    <td>
                      <ExactLine text={token.user.name} />
                    </td>
                    <td className="fine">{token.mayDecide && names.mayDecide}</td>
                    <td className="fine">
                      {token.expiresAt === null ? (
                        names.noExpiry
                      ) : (
                        <>
                          {names.expires} <Time at={token.expiresAt} />
                        </>
                      )}
                    </td>
                    <td className="fine">
                      {token.lastUsedAt === null ? (
                        names.never
                      ) : (
                        <>
                          {names.used} <Time at={token.lastUsedAt} />
                        </>
                      )}
                    </td>
                    <RowActs>
                      <RowAct of={token.label} isDangerous onPress={() => revoke.mutate(token.id)}>
                        {names.revoke}
                      </RowAct>
                    </RowActs>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </Found>
      {isMaking && <NewToken users={users} onClose={() => setMaking(false)} />}
    </section>
  );
}

function NewToken({ users, onClose }: { readonly users: readonly Person[]; readonly onClose: () => void }) {
  const [userId, setUserId] = useState(users[0]?.id ?? "");
  const [label, setLabel] = useState("");
  const [mayDecide, setMayDecide] = useState(false);
  const [made, setMade] = useState<{ readonly token: string | null }>();
  const make = useAct(
    "tokens",
    () => ask(api.tokens.$post({ header: {}, json: { userId, label, mayDecide } })),
    setMade,
  );
  return (
    <Dialog title={names.newToken} onClose={onClose}>
      {made !== undefined ? (
        <ToldOnce lead={names.shownOnce} value={made.token} lost={names.tokenLost} onClose={onClose} />
      ) : (
        <Form
          submit={words.admin.save}
          isBusy={make.isPending}
          error={make.error}
          onSubmit={() => make.mutate(undefined)}
          onCancel={onClose}
        >
          <ChoiceField
            label={names.name}
            value={userId}
            choices={Object.fromEntries(users.map((user) => [user.id, user.name]))}
            onChange={setUserId}
          />
          <TextField label={names.label} value={label} onChange={setLabel} isRequired />
          <label className="check">
            <input type="checkbox" checked={mayDecide} onChange={(event) => setMayDecide(event.target.checked)} />
            {names.mayDecide}
          </label>
        </Form>
      )}
    </Dialog>
  );
}
