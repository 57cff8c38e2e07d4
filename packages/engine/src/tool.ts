import type { Tx } from "@countersign/db/connect.ts";
import type { Option, Risk, Tier, ToolFacts } from "@countersign/gate/types.ts";
import type { ResultCode } from "@countersign/gate/result-codes.ts";
import type { Units } from "@countersign/gate/unit.ts";
import type { z } from "zod";
import type { Shown } from "./shown.ts";

/**
 * What running a tool does to the world, which decides what happens when a worker dies in the middle:
 * - `read-only`: changes nothing; run again freely.
 * - `transactional`: writes only our own database, inside the commit of its result: exactly once.
 * - `idempotent`: the outside world recognises the idempotency key; run again with the same key.
 * - `once`: anything else; after a crash nobody can tell, so the call becomes `unknown` and a person is asked.
 * - `question`: is not run at all; a person's answer is its result.
 */
export type Effect = "read-only" | "transactional" | "idempotent" | "once" | "question";

/**
 * What a tool returns. `unknown` says that it cannot tell whether its effect happened; `changed`, that it did nothing, since
 * a precondition no longer holds: the call is put before a person once more.
 */
export type ToolResult =
  | { readonly kind: "done"; readonly content: string }
  | { readonly kind: "failed"; readonly code?: ResultCode; readonly content: string }
  | { readonly kind: "changed"; readonly content: string }
  | { readonly kind: "unknown"; readonly content: string };

/** The state of something that a call rests on: a file, a page or a script by its name, and the hash of what it holds. */
export interface Precondition {
  readonly kind: "file" | "page" | "script";
  readonly name: string;
  readonly hash: string;
}

/** What a call would do, found out by reading alone; or why it cannot be done, which is its result. */
export type Proposed =
  | {
      readonly kind: "proposed";
      /** What would happen, in a line or a few. */
      readonly message: string;
      /** The change as a unified diff. A person approves what stands here, so it is never cut. */
      readonly preview?: string;
      /** What the preview rests on. Where any of it is another later, the call is not run but asked about again. */
      readonly preconditions: readonly Precondition[];
      /** From what a person picks, where reading is needed to know. */
      readonly options?: readonly Option[];
    }
  | { readonly kind: "failed"; readonly content: string };

/** A credential for one capability, open for one call. `use` is the only way to its value. */
export interface Handle {
  use<T>(body: (secret: string) => Promise<T>): Promise<T>;
}

/** What every tool is told about the call it serves. */
export interface CallContext {
  readonly workspaceId: string;
  readonly runId: string;
  readonly callId: string;
  /** The user the run acts for. */
  readonly userId: string;
  /** Stable across attempts of the same call. */
  readonly idempotencyKey: string;
  /** What its proposal rests on and a person agreed to; to be compared once more at the moment of writing. */
  readonly preconditions: readonly Precondition[];
  /** The option that a person picked, or that is bound to the tool's role. Nothing a model writes reaches it. */
  readonly selectedOptionId: string | undefined;
  /** Aborted on timeout, cancellation and a lost lease. */
  readonly signal: AbortSignal;
  /**
   * A tool that shows its run pages, directories, or what other runs wrote, puts them in here before its read or its
   * transaction ends: whoever may not see them does not see the run.
   */
  readonly shown: Shown;
}

/** What a proposal may look with: it reads, outside any transaction of the call's, and has no credentials. */
export interface ProposeContext extends Pick<
  CallContext,
  "workspaceId" | "runId" | "callId" | "userId" | "signal" | "shown"
> {
  /** Reads from the database in a read-only transaction of its own; await nothing but SQL inside. */
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A tool that reaches outside, or only reads. */
export interface OutsideContext extends CallContext {
  /** Opens the credential of a capability this call acquired when it began; refuses any other. */
  acquire(capability: string): Promise<Handle>;
  /** Reads from the database in a read-only transaction of its own; await nothing but SQL inside. */
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A tool whose writes commit together with its result, or not at all. */
export interface TransactionContext extends CallContext {
  readonly tx: Tx;
}

/** A function of a tool's own argument type. A method type, so that every tool is also one of unknown arguments. */
type OfArgs<A, T> = { of(args: A): T }["of"];

type FactsOfArgs = "schema" | "tier" | "risk" | "needsApproval" | "units" | "safety" | "options" | "role";

interface ToolBase<A> extends Omit<ToolFacts, FactsOfArgs> {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType<A>;
  readonly tier?: Tier | OfArgs<A, Tier>;
  readonly risk?: Risk | OfArgs<A, Risk>;
  readonly needsApproval?: boolean | OfArgs<A, boolean>;
  readonly units?: OfArgs<A, Units>;
  readonly safety?: OfArgs<A, string | undefined>;
  readonly options?: OfArgs<A, readonly Option[]>;
  readonly role?: string | OfArgs<A, string>;
  /** Lines for the card, built from the arguments alone: what exactly will happen. */
  readonly details?: OfArgs<A, readonly string[]>;
  /** Says what a call would do, before a person is asked and again just before it runs, by reading alone. */
  propose?(args: A, context: ProposeContext): Promise<Proposed>;
  /** How long one attempt may take; 3 minutes unless stated. `longRunning` tools have no limit. */
  readonly timeoutMs?: number;
  readonly longRunning?: boolean;
}

interface ReadOnlyTool<A> extends ToolBase<A> {
  readonly effect: "read-only";
  execute(args: A, context: OutsideContext): Promise<ToolResult>;
}

interface TransactionalTool<A> extends ToolBase<A> {
  readonly effect: "transactional";
  execute(args: A, context: TransactionContext): Promise<ToolResult>;
}

interface OutsideTool<A> extends ToolBase<A> {
  readonly effect: "idempotent" | "once";
  execute(args: A, context: OutsideContext): Promise<ToolResult>;
  /** Asks the outside world whether an interrupted attempt happened. */
  verify?(args: A, context: OutsideContext): Promise<ToolResult | { readonly kind: "absent" }>;
}

/** A question to a person: never executed, its answer is its result. */
interface QuestionTool<A> extends ToolBase<A> {
  readonly effect: "question";
  readonly neverGated: true;
  question(args: A): Question;
}

/** What `human.ask` puts before a person. */
export interface Question {
  readonly question: string;
  readonly options: readonly string[];
  readonly context: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly defaultAnswer: string | undefined;
}

/** A registry entry: what the gate weighs, what the card shows, and what the worker runs. */
export type ToolOf<A> = ReadOnlyTool<A> | TransactionalTool<A> | OutsideTool<A> | QuestionTool<A>;

/** A tool whose argument type is known only to itself; its schema has parsed what it is given. */
export type Tool = ToolOf<never>;

/** Declares a tool, with its argument type taken from its schema. */
export function defineTool<A>(tool: ToolOf<A>): Tool {
  return tool as unknown as Tool;
}
