import type * as z from "zod";

export type Tier = "read" | "write" | "exec";
export type Risk = "read-only" | "low" | "high" | "unknown";
export type Mode = "off" | "deny" | "ask" | "allowlist" | "allow";
export type ApprovalPolicy = "none" | "outbound" | "all";
export type DialLevel = "none" | "read-only" | "low" | "high" | "read" | "write";

/** The layers of a policy; `layerOrder` in layers.ts lists them most specific first. */
export type LayerName = "run" | "definition" | "workspace" | "app";

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
  /**
   * What exactly a call touches (hosts, paths, addresses), each as the model wrote it:
   * text that was cleaned up first hides the characters that the gate looks for.
   */
  readonly units?: FromArgs<readonly string[]>;
  /** A question to a person, never a permission: only rows 1 to 4 apply. */
  readonly neverGated?: true;
}

/** A call as the model asked for it. `tool` is undefined where nothing of that name is registered. */
export interface ProposedCall {
  readonly tool: ToolFacts | undefined;
  readonly name: string;
  /** The model's arguments, the exact JSON text. */
  readonly argsText: string;
}

export type RuleTarget =
  | { readonly kind: "tool"; readonly name: string }
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "family"; readonly name: string }
  | { readonly kind: "everything" };

/** A stored answer for later calls. `locked`: inner layers may only tighten it. */
export interface Rule {
  readonly id: string;
  readonly target: RuleTarget;
  readonly mode: Mode;
  readonly locked?: boolean;
}

/** What runs unasked. From `expiresAt` on the dial says nothing. */
export interface Dial {
  readonly level: DialLevel;
  readonly expiresAt?: Date;
  readonly locked?: boolean;
}

export interface LayerPolicy {
  readonly rules?: readonly Rule[];
  readonly dial?: Dial;
  readonly approvalPolicy?: { readonly level: ApprovalPolicy; readonly locked?: boolean };
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
  /** Set where the classifier's stored verdict could still change the answer. */
  readonly classify?: true;
  /** The arguments as the tool's schema parsed them; present from row 3 on where the tool is known. */
  readonly args?: unknown;
  /** For `invalid`: everything that is wrong, in words for the model. */
  readonly detail?: string;
  /** For ask and pick: what each of rows 10 to 14 gives as its reason. The card shows them all. */
  readonly floorReasons?: readonly string[];
  /** For row `afterwards`: the question that nobody can answer. */
  readonly unasked?: { readonly row: RowName; readonly reason: string };
}
