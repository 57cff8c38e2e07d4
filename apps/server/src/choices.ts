import { createDefinitions } from "@countersign/engine/definition.ts";
import type { DecideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { storableJson } from "@countersign/engine/exact-text.ts";
import { policyOf, timeOf } from "@countersign/engine/policy.ts";
import { readSnapshot } from "@countersign/engine/run-snapshot.ts";
import { checkArguments } from "@countersign/gate/arguments.ts";
import { hashArguments } from "@countersign/gate/canonical.ts";
import { rememberedKeys } from "@countersign/gate/remembered-keys.ts";
import { decide } from "@countersign/gate/decide.ts";
import { codeOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Unit } from "@countersign/gate/unit.ts";
import { v7 as newId } from "uuid";
import { z } from "zod";
import type { Queryable } from "@countersign/db/connect.ts";
import type { ServerDependencies } from "./context.ts";
import { doubledKey } from "./doubled-key.ts";
import { invalidField, Problem } from "./problem.ts";
import { readExactArgs } from "./queries/approvals.ts";
import { hideInJson } from "./queries/hide-secrets.ts";
import type { Approval } from "./shapes/approvals.ts";

/** What a person may choose with an approval. */
export interface AskedChoice {
  /** The arguments to run instead, JSON text. */
  readonly editedArgs?: string | undefined;
  readonly selectedOption?: string | undefined;
  readonly remember?:
    | {
        readonly scope: "run" | "definition" | "workspace";
        /** Some of what a rule for this call holds; `all`: whatever the tool does. */
        readonly units?: readonly string[] | "all" | undefined;
        readonly expiresMs?: number | undefined;
      }
    | undefined;
}

interface Choosing extends Pick<ServerDependencies, "tools"> {
  readonly sql: Queryable;
}

type Asked = AskedChoice & Pick<DecideApproval, "answer">;

/** How a display copy marks what it hides. */
const hidden = "[redacted";

/**
 * The changed arguments, once the gate has judged them like any call of the run: refused where they would not run whatever
 * a person says. Undefined where nothing was changed. The tool cannot be.
 */
export async function chooseEdited(
  { sql, tools }: Choosing,
  approval: Approval,
  { answer, editedArgs }: Asked,
): Promise<DecideApproval["edited"]> {
  if (editedArgs === undefined) return undefined;
  if (doubledKey(editedArgs) === undefined && hashArguments(editedArgs) === approval.argsDigest) return undefined;
  requireApprove(approval, answer, "editedArgs");
  if (editedArgs.includes(hidden) && !(await readExactArgs(sql, approval.id)).includes(hidden))
    throw invalidField(
      "json.editedArgs",
      `holds ${hidden}…, which stands where a secret was hidden from you; write the value that is to run`,
    );
  const doubled = doubledKey(editedArgs);
  if (doubled !== undefined)
    throw invalidField(
      "json.editedArgs",
      `holds the key ${JSON.stringify(doubled)} twice in one object, so that one of the two would not count; keep one`,
    );
  const snapshot = await readSnapshot(sql, approval.run.id);
  const definition = await createDefinitions(sql)(snapshot.definitionId, snapshot.definitionVersion);
  const registered = tools.get(approval.tool);
  const call = {
    tool: registered?.tool,
    name: approval.tool,
    argsText: editedArgs,
    ...(registered === undefined ? {} : { definitionHash: registered.definitionHash }),
  };
  const verdict = decide(call, policyOf(snapshot, definition), timeOf(snapshot));
  if (codeOfVerdict(verdict) !== undefined)
    throw new Problem(
      "edited_refused",
      `With these arguments ${approval.tool} may not run: ${verdict.detail ?? verdict.reason} (row ${verdict.row}). Nothing was decided.`,
    );
  return { args: storableJson(editedArgs), argsHash: hashArguments(editedArgs) };
}

/**
 * The rule that the decision leaves behind: for the call's tool, narrowed to what this call touches unless the person says
 * otherwise, and never to more than they saw: what is wider than a unit as it stands is on the card, or named. Undefined
 * where nothing is to be remembered; refused where no rule could answer such a call.
 */
export async function chooseRemembered(
  { sql, tools }: Choosing,
  approval: Approval,
  { answer, remember }: Asked,
  editedArgs: string | undefined,
): Promise<DecideApproval["remember"]> {
  if (remember === undefined) return undefined;
  requireApprove(approval, answer, "remember");
  const why = approval.asksEachTime;
  if (why !== null) throw cannotRemember(approval, why);
  const tool = tools.get(approval.tool)?.tool;
  if (tool === undefined) throw cannotRemember(approval, "this server does not know the tool");

  const { scope, units, expiresMs } = remember;
  const rule = { ruleId: newId(), scope, ...(expiresMs === undefined ? {} : { expiresMs }) };
  if (units === "all" || (units === undefined && tool.units === undefined)) return rule;
  const argsText = editedArgs ?? (await readExactArgs(sql, approval.id));
  const touched = touchedBy(approval, checkArguments(tool, argsText));
  const keys = rememberedKeys(touched);
  const strange = units?.find((unit) => !keys.includes(unit));
  if (strange !== undefined)
    throw invalidField(
      "json.remember.units",
      `${JSON.stringify(strange)} is nothing that a rule for this call holds; it holds ${listed(keys)}`,
    );
  const onCard = new Set(editedArgs === undefined ? readShownKeys(approval.card) : []);
  const unseen = keys.find((key) => !onCard.has(key) && touched.every(({ text }) => text !== key));
  if (units === undefined && unseen !== undefined)
    throw cannotRemember(
      approval,
      `a rule for it would hold ${listed(keys)}, which its card does not say; name that in \`remember.units\``,
    );
  return { ...rule, entries: [...new Set(units ?? keys)].map((unit) => ({ kind: "unit", unit })) };
}

function touchedBy(approval: Approval, checked: ReturnType<typeof checkArguments>): readonly Unit[] {
  if (checked.kind !== "valid" || checked.units === undefined || checked.units.length === 0)
    throw cannotRemember(approval, "nobody can say what exactly it touches");
  const loose = checked.units.find(({ key, unkeyable }) => key === undefined && unkeyable !== undefined);
  if (loose === undefined) return checked.units;
  throw cannotRemember(approval, `no rule can vouch for ${listed([loose.text])} (${loose.unkeyable})`);
}

const shownKeys = z.object({ remembers: z.array(z.string()) });

/** What the card says that a rule would hold, where that is not what it touches as it stands. */
function readShownKeys(card: unknown): readonly string[] {
  return shownKeys.safeParse(card).data?.remembers ?? [];
}

/** For a message, which hides what looks like a secret as the card does. */
function listed(keys: readonly string[]): string {
  return keys.map((key) => hideInJson(JSON.stringify(key))).join(", ");
}

function requireApprove(approval: Approval, answer: DecideApproval["answer"], field: string): void {
  if (answer === "approve" && approval.kind === "approval") return;
  throw invalidField(`json.${field}`, "goes with the answer approve alone");
}

function cannotRemember({ tool }: Approval, why: string): Problem {
  return new Problem(
    "cannot_remember",
    `An answer to this call of ${tool} cannot be remembered: ${why}. Approve it once, without \`remember\`. Nothing was decided.`,
  );
}
