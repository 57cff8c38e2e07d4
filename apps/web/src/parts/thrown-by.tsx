import type { KillSwitch, RunTree } from "../api.ts";
import { words } from "../words.ts";
import { ExactLine } from "./exact-text.tsx";
import { Time } from "./time.tsx";

/** Who threw a kill switch, when and why. */
export function ThrownBy({ by, since, reason }: Pick<KillSwitch, "by" | "since" | "reason">) {
  return (
    <>
      <ExactLine text={by.name} /> {words.held.threw} <Time at={since} />: <ExactLine text={reason} />
    </>
  );
}

type HeldBy = NonNullable<RunTree["run"]["heldBy"]>;

/** Among the facts of a run or a card: that a kill switch holds it, what that means, and who threw it. */
export function HeldFact({ heldBy, meaning }: { readonly heldBy: HeldBy | null; readonly meaning?: string }) {
  if (heldBy === null) return null;
  return (
    <div className="whole">
      <dt>{words.card.facts.held}</dt>
      <dd>
        {words.held.by(heldBy.scope)} {meaning !== undefined && `${meaning} `}
        <ThrownBy {...heldBy} />
      </dd>
    </div>
  );
}
