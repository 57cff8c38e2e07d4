import type { Run } from "../api.ts";
import { words } from "../words.ts";

/** How a run stands, as a person says it: a paused one says what it waits on. */
export function standingOf({ status, waitsOn }: Pick<Run, "status" | "waitsOn">): string {
  if (status !== "paused") return words.runs.standing[status] ?? status;
  return words.runs.waitsOn[waitsOn ?? ""] ?? words.runs.paused;
}

/** True where something may still happen to it. */
export function isLive({ status }: Pick<Run, "status">): boolean {
  return status === "queued" || status === "running" || status === "paused";
}
