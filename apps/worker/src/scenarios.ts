import type { Scenario } from "@countersign/engine/scripted-model.ts";
import { eveningPlanner } from "./scenarios/evening-planner.ts";
import { supplierFollowUp } from "./scenarios/supplier-follow-up.ts";
import { triage } from "./scenarios/triage.ts";

/** What the scripted model plays, by the name of the definition that asks. */
export const registry: Readonly<Record<string, Scenario>> = {
  "evening-planner": eveningPlanner,
  "supplier-follow-up": supplierFollowUp,
  triage,
};
