export type Mode = "off" | "deny" | "ask" | "allowlist" | "allow";
export type ApprovalPolicy = "none" | "outbound" | "all";
export type DialLevel = "none" | "read-only" | "low" | "high" | "read" | "write";

/** The layers of a policy; `layerOrder` in layers.ts lists them most specific first. */
export type LayerName = "run" | "definition" | "workspace" | "app";

/** The family `mcp` is all tools of all MCP servers. */
export type RuleTarget =
  | { readonly kind: "tool"; readonly name: string }
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "family"; readonly name: string }
  | { readonly kind: "everything" };

/**
 * What a rule says it of. A rule that allows matches a unit's key whole (`unit`, `command`) or its whole text (`pattern`,
 * in RE2 syntax). One that denies or asks matches a `command` by its leading words, through wrappers. `argument` looks at
 * one argument of the call, by value (bash's `action`, say), and is only for rules that deny or ask.
 */
export type RuleEntry =
  | { readonly kind: "unit"; readonly unit: string }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "pattern"; readonly pattern: string }
  | { readonly kind: "argument"; readonly name: string; readonly value: string };

/**
 * A stored answer for later calls. With `entries` it speaks of the units they match alone: deny and ask of a call where
 * any matches, allow and allowlist of one where all are matched. `off` has none, `allowlist` always.
 */
export interface Rule {
  readonly id: string;
  readonly target: RuleTarget;
  readonly mode: Mode;
  readonly entries?: readonly RuleEntry[];
  /** Inner layers may only tighten it. At workspace and app alone. */
  readonly locked?: boolean;
  /** Written by a person's decision, with mode `allow`. It falls silent where a layer tightens the tool afterwards. */
  readonly remembered?: true;
  /** Of the tool when the person decided; while the tool's differs, a remembered rule says nothing. */
  readonly definitionHash?: string;
  /** When the rule came to say what it says. Absent: before all others, as what configuration says. */
  readonly createdAt?: Date;
  /** From then on the rule says nothing. */
  readonly expiresAt?: Date;
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
