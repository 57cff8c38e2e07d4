import type { StopPoint } from "@countersign/engine/testing/driver.ts";

/** Where the first use of a credential stops; undefined where it does not. */
interface Stage {
  first: StopPoint<void> | undefined;
}

// The tool is loaded as a module of its own, which may be another copy of this one.
const shared = globalThis as { ownStage?: Stage };
export const stage: Stage = (shared.ownStage ??= { first: undefined });
