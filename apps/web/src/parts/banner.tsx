import type { LiveState } from "../live/use-live.ts";
import { keepGoal } from "./goal.ts";
import { words } from "../words.ts";
import "./banner.css";

/** Says on every page when what it shows may be old, and what to do. */
export function Banner({ live, isNewVersion }: { readonly live: LiveState; readonly isNewVersion: boolean }) {
  return (
    <div role="status" className="banner-place">
      {live === "offline" && <p className="banner">{words.offline}</p>}
      {live === "polling" && <p className="banner">{words.polling}</p>}
      {live === "signed_out" && (
        <p className="banner">
          {words.signedOut}{" "}
          <a href="/login" onClick={keepGoal}>
            {words.signInAgain}
          </a>
        </p>
      )}
      {isNewVersion && (
        <p className="banner">
          {words.newVersion}{" "}
          <button type="button" className="quiet" onClick={() => location.reload()}>
            {words.reload}
          </button>
        </p>
      )}
    </div>
  );
}
