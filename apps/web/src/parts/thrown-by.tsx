import type { KillSwitch } from "../api.ts";
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
