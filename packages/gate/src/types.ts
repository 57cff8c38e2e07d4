import type * as z from "zod";
import type { LayerName, LayerPolicy } from "./rule.ts";
import type { Units } from "./unit.ts";

export type Tier = "read" | "write" | "exec";
export type Risk = "read-only" | "low" | "high" | "unknown";

/**
 * A function of the parsed arguments. Written as a method so that a tool whose
 * functions take its own argument type satisfies `ToolFacts` as it stands.
 */
export type FromArgs<T> = { of(args: unknown): T }["of"];

/**
 * What the gate reads of a registered tool. Every function is pure, synchronous
 * and takes the arguments as `schema` parsed them; one that throws never makes
 * the verdict more permissive.
 */
export interface ToolFacts {
  readonly name: string;
  /** Former names: what denies, asks or turns off one of them still reaches the tool, what allows one does not. */
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly schema: z.ZodType;
  /** The family that rules may name: file, shell, web, task, subagent … */
  readonly family?: string;
  /** The MCP server that the tool comes from. Such a tool is also of the family `mcp`. */
  readonly server?: string;
  /** Capabilities that the run must have been granted. */
  readonly requires?: readonly string[];
  /** Absent or thrown: exec. */
  readonly tier?: Tier | FromArgs<Tier>;
  /** Absent: from the tier (read → read-only, write → high, exec → unknown). Thrown: unknown. */
  readonly risk?: Risk | FromArgs<Risk>;
  /** True: outbound or irreversible. False: a reversible edit. Absent: risk and dial decide. */
  readonly needsApproval?: boolean | FromArgs<boolean>;
  /** Asks under every policy and every dial. */
  readonly alwaysGate?: boolean;
  /** The name of a danger in the arguments (`outside_root`), which asks even under yolo. Thrown: asks. */
  readonly safety?: FromArgs<string | undefined>;
  /** Which one it is to be: the call runs with an option that a person picked or that is bound to `role`. None: no choice. */
  readonly options?: FromArgs<readonly Option[]>;
  /** What the option is for (`analyze:image`); bindings go by it. Absent: the tool's name. */
  readonly role?: string | FromArgs<string>;
  /** What exactly a call touches: commands, hosts, paths, addresses. */
  readonly units?: FromArgs<Units>;
  /** A question to a person, never a permission: only rows 1 to 4 apply. */
  readonly neverGated?: true;
}

/** A row of a picker. */
export interface Option {
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
}

/**
 * What the classifier said of a call's arguments, of unknown risk until then. `unavailable`: it failed, or answered with
 * something else. One of other arguments counts for nothing.
 */
export interface Classified {
  readonly level: "read-only" | "low" | "high" | "unavailable";
  /** Of `hashArguments`. */
  readonly argsHash: string;
}

/** A call as the model asked for it. `tool` is undefined where nothing of that name is registered. */
export interface ProposedCall {
  readonly tool: ToolFacts | undefined;
  readonly name: string;
  /** The model's arguments, the exact JSON text. */
  readonly argsText: string;
  /** Of the tool as it is registered now, as `hashDefinition` has it. */
  readonly definitionHash?: string;
  readonly classified?: Classified;
}

/** A kill switch that is on and reaches this run; for a tool or a server, the one it names. */
export type KillSwitch =
  | { readonly scope: "app" | "workspace" | "definition" | "run" }
  | { readonly scope: "tool" | "server"; readonly name: string };

/** A person's denial earlier in this run. `argsHash` is of `hashArguments`. */
export interface Denial {
  readonly approvalId: string;
  readonly tool: string;
  readonly argsHash: string;
}

/** Everything that is not the call: a snapshot of what holds for one run at one moment. */
export interface Policy {
  /** The versions that this snapshot was read at. The gate does not look inside. */
  readonly versions: string;
  readonly layers: Readonly<Partial<Record<LayerName, LayerPolicy>>>;
  readonly kills: readonly KillSwitch[];
  /** Names of the tools that the definition offers. */
  readonly toolset: ReadonlySet<string>;
  /** Capabilities granted to the run. */
  readonly grants: ReadonlySet<string>;
  readonly denials: readonly Denial[];
  /** Options bound beforehand, by role. */
  readonly bindings?: ReadonlyMap<string, string>;
  /** The definition hash that each tool was accepted with. An MCP tool without one asks. */
  readonly pins?: ReadonlyMap<string, string>;
  /** Names of the denylist that ask instead of being denied. The app's alone. */
  readonly denylistSoftened?: ReadonlySet<string>;
  /** Stored policy could not be read, so nothing is known to be allowed: everything asks. */
  readonly unreadable?: true;
  /** What becomes of a question that nobody can answer. */
  readonly unattended: "park" | "deny";
  readonly canAnybodyAnswer: boolean;
}

/** A row of the decision table; `afterwards` is the rule that follows the table. */
export type RowName =
  | "1a"
  | "1b"
  | "2"
  | "3"
  | "4"
  | "5"
  | "6"
  | "7"
  | "8"
  | "9"
  | "10"
  | "11"
  | "12"
  | "13"
  | "14"
  | "15"
  | "16"
  | "17"
  | "18"
  | "19"
  | "20"
  | "21"
  | "22"
  | "23"
  | "24"
  | "afterwards";

/**
 * The answer of the gate: which row matched first, and why. `reason` is for the log
 * and the card; the model reads `textOfVerdict` instead.
 */
export interface Verdict {
  readonly verdict: "allow" | "ask" | "pick" | "deny" | "invalid" | "held";
  readonly row: RowName;
  readonly reason: string;
  /** The classifier could still change the answer: ask it first, and decide again with what it said. */
  readonly classify?: true;
  /** The arguments as the tool's schema parsed them; present from row 3 on where the tool is known. */
  readonly args?: unknown;
  /** For `invalid`: everything that is wrong. For row 7: what the call does ("deletes a home folder"). In words for the model. */
  readonly detail?: string;
  /** For ask and pick: what each of rows 10 to 14 (and a softened row 7) gives as its reason. The card shows them all. */
  readonly floorReasons?: readonly string[];
  /** For pick: what is to be chosen, and from what. */
  readonly role?: string;
  readonly options?: readonly Option[];
  /** For a question that nobody can answer, and that is denied therefore. */
  readonly unasked?: { readonly row: RowName; readonly reason: string };
}
