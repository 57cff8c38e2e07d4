import type { Run } from "../api.ts";
import { standingOf } from "./standing.ts";
import "./standing-badge.css";

/** How a run stands, in words and a colour. */
export function StandingBadge({ run }: { readonly run: Pick<Run, "status" | "waitsOn"> }) {
  return <span className={`standing ${run.status}`}>{standingOf(run)}</span>;
}
