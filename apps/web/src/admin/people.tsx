import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";
import { ChoiceField, Form, TextField } from "../parts/fields.tsx";
import { Section } from "./section.tsx";
import { Tokens } from "./tokens.tsx";
import { RowActs } from "../parts/row-acts.tsx";
import { useAct } from "../parts/use-act.ts";

const names = words.admin.people;
const roles = { viewer: "viewer", operator: "operator", approver: "approver", admin: "admin" } as const;
type Role = keyof typeof roles;

/** The accounts of people and programs, and what they sign in with. */
export function People() {
  const query = useQuery({ queryKey: ["users"], queryFn: () => ask(api.users.$get({ query: {} })) });
  const [isMaking, setMaking] = useState(false);
  const [link, setLink] = useState<string>();
  const change = useAct("users", ({ id, ...json }: { id: string; role?: Role; isDisabled?: boolean }) =>
    ask(api.users[":id"].$patch({ param: { id }, json })),
  );
  const invite = useAct(
    "users",
    (userId: string) => ask(api["login-links"].$post({ header: {}, json: { userId } })),
    ({ path }) => setLink(path === null ? undefined : new URL(path, location.origin).href),
  );
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
            {link !== undefined && (
              <p className="told-once" role="status">
                {names.linkLead} <code>{link}</code>
              </p>
            )}
            <table className="table">
              <tbody>
                {users.map((user) => (
                  <tr key={user.id}>
                    <td>
                      <ExactLine text={user.name} /> {user.isService && <span className="fine">{names.isService}</span>}
                    </td>
                    <td className="fine">{user.email ?? ""}</td>
                    <td>
                      <RoleField
                        key={user.role}
                        of={user}
                        isBusy={change.isPending}
                        onChange={(role) => change.mutate({ id: user.id, role })}
                      />
                    </td>
                    <RowActs>
                      {!user.isService && user.disabledAt === null && (
                        <button type="button" onClick={() => invite.mutate(user.id)}>
                          {names.loginLink}
                        </button>
                      )}
                      <button
                        type="button"
                        onClick={() => change.mutate({ id: user.id, isDisabled: user.disabledAt === null })}
                      >
                        {user.disabledAt === null ? names.disable : names.enable}
                      </button>
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

/** A role is chosen, and then given: the arrow keys alone give nobody anything. */
function RoleField({
  of: { name, role: current },
  isBusy,
  onChange,
}: {
  readonly of: { readonly name: string; readonly role: Role };
  readonly isBusy: boolean;
  readonly onChange: (role: Role) => void;
}) {
  const [role, setRole] = useState(current);
  return (
    <span className="role-field">
      <select
        aria-label={`${names.role}: ${name}`}
        value={role}
        onChange={(event) => setRole(event.target.value as Role)}
      >
        {Object.keys(roles).map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {role !== current && (
        <button type="button" disabled={isBusy} onClick={() => onChange(role)}>
          {names.makeRole(role)}
        </button>
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
