import { useState } from "react";
import { isNotifying, setNotifying } from "../live/use-notifications.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { KeysCheck } from "../parts/keys-check.tsx";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import { Delegations } from "./delegations.tsx";
import { Section } from "./section.tsx";
import { Sessions } from "./sessions.tsx";

const names = words.admin.account;

/** One's own account: who one is here, what this browser does, and what else signs in as oneself. */
export function Account() {
  const me = useMe();
  return (
    <Section title={words.admin.sections.account} lead={names.lead} query={me}>
      {({ id, name, role, workspace, tokenId, mayDecide }) => (
        <>
          <dl className="facts">
            <div>
              <dt>{names.who}</dt>
              <dd>
                <ExactLine text={name} />
              </dd>
            </div>
            <div>
              <dt>{names.role}</dt>
              <dd>{role}</dd>
            </div>
            <div>
              <dt>{names.workspace}</dt>
              <dd>
                <ExactLine text={workspace.name} />
              </dd>
            </div>
          </dl>
          <p className="fine">
            {names.id}: <code>{id}</code>
          </p>
          <section className="admin-part">
            <h2>{names.settings}</h2>
            <Switches />
          </section>
          <Sessions userId={id} tokenId={tokenId} />
          <Delegations userId={id} isAdmin={role === "admin"} mayHandOver={mayDecide} />
        </>
      )}
    </Section>
  );
}

function Switches() {
  const [isTold, setTold] = useState(isNotifying);
  const [isDenied, setDenied] = useState(false);
  const notify = async (wanted: boolean): Promise<void> => {
    const isOn = await setNotifying(wanted, names.notifySample);
    setTold(isOn);
    setDenied(wanted && !isOn);
  };
  return (
    <>
      <KeysCheck />
      <label className="check">
        <input type="checkbox" checked={isTold} onChange={(event) => void notify(event.target.checked)} />
        {names.notify}
      </label>
      {isDenied && (
        <p className="fine" role="status">
          {names.notifyDenied}
        </p>
      )}
    </>
  );
}
