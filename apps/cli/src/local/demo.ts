import type { z } from "zod";
import type { definitionSpec } from "@countersign/engine/definition.ts";

/** The imaginary team of the first minute, whose pages lie in apps/cli/demo. */
export const demoWorkspace = "Larkfield Tool Library";

/** The mail address that its agents write from. */
export const demoSender = "library@larkfield.example";

export const demoUsers = [
  { name: "You", role: "admin" },
  { name: "Priya Nair", role: "approver" },
  { name: "Tomas Brandt", role: "operator" },
  { name: "Ines Vargas", role: "viewer" },
] as const;

type Spec = z.input<typeof definitionSpec>;

/** With a key of Anthropic's in the environment this model answers; without one, the scenario of the definition's name. */
const model = "claude-sonnet-5-5";

export const demoDefinitions: readonly Spec[] = [
  {
    name: "supplier-follow-up",
    description: "Finds out what we know of a late order, notes it, and writes to the supplier.",
    model,
    instructions:
      "You look after orders of the Larkfield Tool Library. Read what the pages say before you act. Note on a tool's page what you do about it. Write to suppliers briefly and kindly.",
    toolset: ["kb.grep", "kb.read", "kb.append", "mail.send", "human.ask"],
  },
  {
    name: "evening-planner",
    description: "Sets the date of the next repair evening, which a person chooses.",
    model,
    instructions:
      "You plan the repair evenings of the Larkfield Tool Library. People choose the date; you write it down.",
    toolset: ["kb.grep", "kb.read", "kb.append", "human.ask"],
  },
  {
    name: "triage",
    description: "Takes any request, finds the pages that speak of it, and puts a task into the queue.",
    model,
    instructions:
      "You sort what people of the Larkfield Tool Library send in. Find the pages that matter and file a task.",
    toolset: ["kb.grep", "kb.read", "tasks.list", "tasks.create"],
  },
];

/** The runs that the first start begins, each once. */
export const demoRuns = [
  {
    definition: "supplier-follow-up",
    title: "Ask where the drive belt is",
    input: "The belt sander has been out of order since October. Find out why, and get it moving.",
    key: "demo-supplier-follow-up",
  },
  {
    definition: "evening-planner",
    title: "Set the December repair evening",
    input: "Please fix the date of the repair evening in December.",
    key: "demo-evening-planner",
  },
] as const;

/** One more, for a person to start. */
export const demoExample = { definition: "triage", input: "the leaf rake needs a new handle" } as const;
