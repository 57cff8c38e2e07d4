import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Refusal } from "../parts/states.tsx";
import { readAll, useMe } from "../queries.ts";
import { visibleText } from "../parts/visible.ts";
import { words } from "../words.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { Tokens } from "./tokens.tsx";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.people;
const roles = { viewer: "viewer", operator: "operator", approver: "approver", admin: "admin" } as const;
type Role = keyof typeof roles;

/** The accounts of people and programs, and what they sign in with. */
export function People() {
  const query = useQuery({
    queryKey: ["users"],
    queryFn: async () => {
      const pages = await readAll((asked) => ask(api.users.$get({ query: asked })));
      return { users: pages.flatMap((page) => page.users) };
    },
  });
  const me = useMe();
  const [isMaking, setMaking] = useState(false);
  const change = useAct("users", ({ id, ...json }: { id: string; role?: Role; isDisabled?: boolean }) =>
    ask(api.users[":id"].$patch({ param: { id }, json })),
  );
  const invite = useAct("users", async ({ id: userId, name }: { readonly id: string; readonly name: string }) => {
    const { path } = await ask(api["login-links"].$post({ header: {}, json: { userId } }));
    return { name, link: path === null ? undefined : new URL(path, location.origin).href };
  });
  return (
    <>
      <Section
        title={words.admin.sections.people}
        lead={names.lead}
        query={query}
        action={
          <button type="button" className="primary" onClick={() => setMaking(true)}>
            {names.new}
          </button>
        }
      >
        {({ users }) => (
          <>
            <Refusal error={change.error ?? invite.error} />
            {invite.data !== undefined && (
              <p className="told-once" role="status">
                {invite.data.link === undefined ? (
                  names.linkLost
                ) : (
                  <>
                    <ExactLine text={names.linkLead(invite.data.name)} /> <code>{invite.data.link}</code>
                  </>
                )}
              </p>
            )}
            <table className="table">
              <tbody>
                {users.map((user) => (
                  <tr key={user.id}>
                    <td>
                      <ExactLine text={user.name} /> {user.isService && <span className="fine">{names.isService}</span>}
                    </td>
                    <td className="fine">
                      <ExactLine text={user.email ?? ""} />
                    </td>
                    <td>
                      <RolePicker
                        user={user}
                        isSelf={user.id === me.data?.id}
                        isBusy={change.isPending}
                        onPick={(role) => change.mutate({ id: user.id, role })}
                      />
                    </td>
                    <RowActs>
                      {!user.isService && user.disabledAt === null && (
                        <RowAct of={user.name} isDisabled={invite.isPending} onPress={() => invite.mutate(user)}>
                          {names.loginLink}
                        </RowAct>
                      )}
                      <RowAct
                        of={user.name}
                        onPress={() => change.mutate({ id: user.id, isDisabled: user.disabledAt === null })}
                      >
                        {user.disabledAt === null ? names.disable : names.enable}
                      </RowAct>
                    </RowActs>
                  </tr>
                ))}
              </tbody>
            </table>
            {isMaking && <NewUser onClose={() => setMaking(false)} />}
          </>
        )}
      </Section>
      <Tokens users={query.data?.users ?? []} />
    </>
  );
}

interface PickerProps {
  readonly user: { readonly id: string; readonly name: string; readonly role: Role };
  readonly isSelf: boolean;
  readonly isBusy: boolean;
  readonly onPick: (role: Role) => void;
}

/** Another role is chosen first and given by a button: a list changes with every arrow key. One's own says what one gives up. */
function RolePicker({ user, isSelf, isBusy, onPick }: PickerProps) {
  const [{ of, chosen }, setChosen] = useState({ of: user.role, chosen: user.role });
  if (of !== user.role) setChosen({ of: user.role, chosen: user.role });
  return (
    <span className="row-acts from-start">
      <select
        aria-label={`${names.role}: ${visibleText(user.name)}`}
        value={chosen}
        onChange={(event) => setChosen({ of: user.role, chosen: event.target.value as Role })}
      >
        {Object.keys(roles).map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {chosen !== user.role && (
        <>
          <button type="button" className={isSelf ? "danger" : ""} disabled={isBusy} onClick={() => onPick(chosen)}>
            {isSelf ? names.giveUp(user.role, chosen) : names.makeRole(chosen)}
            <span className="unseen">
              {", "}
              <ExactLine text={user.name} />
            </span>
          </button>
          <button type="button" className="quiet" onClick={() => setChosen({ of: user.role, chosen: user.role })}>
            {words.card.cancel}
          </button>
        </>
      )}
    </span>
  );
}

function NewUser({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [isService, setService] = useState(false);
  const make = useAct(
    "users",
    () => ask(api.users.$post({ header: {}, json: { name, role, isService, ...(email === "" ? {} : { email }) } })),
    onClose,
  );
  return (
    <Dialog title={names.new} onClose={onClose}>
      <Form
        submit={words.admin.save}
        isBusy={make.isPending}
        error={make.error}
        onSubmit={() => make.mutate(undefined)}
        onCancel={onClose}
      >
        <TextField label={names.name} value={name} onChange={setName} isRequired />
        <ChoiceField label={names.role} value={role} choices={roles} onChange={setRole} />
        {!isService && <TextField label={names.email} value={email} onChange={setEmail} type="email" />}
        <label className="check">
          <input type="checkbox" checked={isService} onChange={(event) => setService(event.target.checked)} />
          {names.isService}
        </label>
      </Form>
    </Dialog>
  );
}
