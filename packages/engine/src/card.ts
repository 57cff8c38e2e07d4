import type { Option, Verdict } from "@countersign/gate/types.ts";
import { findLookalikes } from "@countersign/gate/inspect.ts";
import { rememberedKeys } from "@countersign/gate/remembered-keys.ts";
import type { Unit, Units } from "@countersign/gate/unit.ts";
import { v7 as uuidv7 } from "uuid";
import type { Card } from "./commits/record-turn.ts";
import { displayText, visibleText } from "./exact-text.ts";
import { mapJsonStrings } from "./map-json-strings.ts";
import type { Scrub } from "./scrub.ts";
import type { Precondition, Question, Tool } from "./tool.ts";

/**
 * What a card shows of a call. Built from the arguments, and from what the tool says it would do with them; never from
 * what the model says about them. In all texts secrets are hidden and unseen characters written as escapes.
 */
export interface CardBody {
  readonly tool: string;
  /** The arguments as JSON text, whole; a person approves what stands here. */
  readonly args: string;
  readonly argsHash: string;
  /** A person changed the arguments on an earlier card of this call: these are theirs. */
  readonly isEdited?: true;
  /** What exactly will happen, line by line, in the tool's words. */
  readonly details: readonly string[];
  /** What exactly the call touches: each command, host, path or address, in full. */
  readonly units: readonly string[];
  /** What a remembered answer would hold, where that is not the units as they stand; none where no rule can hold them. */
  readonly remembers?: readonly string[];
  /** What the tool found that it would do, the change as a diff, and what both rest on. */
  readonly message?: string;
  readonly preview?: string;
  readonly preconditions?: readonly Precondition[];
  /** From what a person picks one, and what it is for. */
  readonly options?: readonly Option[];
  readonly role?: string;
  /** How the tool's definition differs from the one that was agreed to. */
  readonly definitionChange?: DefinitionChange;
  /** The row of the decision table that asked, and why. */
  readonly row: string;
  readonly reason: string;
  /** Every reason that holds under any policy; a new one asks again. */
  readonly floorReasons: readonly string[];
  readonly requires: readonly string[];
  /** Which characters look like others, and where: one line for each. */
  readonly lookalikes?: readonly string[];
  /** What the model said in the turn of the call. Nobody vouches for it: it is shown apart, as what it is. */
  readonly narration?: string;
  /** For an unknown outcome: what is known of the attempt. */
  readonly known?: string;
}

/** What a tool said of itself when it was agreed to, and what it says now, as JSON text. */
export interface DefinitionChange {
  readonly before: string;
  readonly after: string;
}

/** What there is to show of a call beside the tool's own words. */
export interface CallOnCard {
  readonly name: string;
  readonly args: string;
  readonly argsHash: string;
  readonly requires: readonly string[];
  readonly isEdited?: boolean;
  readonly narration?: string | undefined;
  readonly proposal?:
    | {
        readonly message: string;
        readonly preview?: string | undefined;
        readonly preconditions: readonly Precondition[];
      }
    | undefined;
  readonly options?: readonly Option[];
  readonly definitionChange?: DefinitionChange | undefined;
}

type Display = Scrub["display"];

const asItIs: Display = (text) => text;

/** What a model says in passing is no reason to let the card grow without end. */
const longestNarration = 2_000;

/** A text in another script altogether is no reason to let it grow either. */
const mostLookalikes = 20;

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The card of a call that asks for permission; its texts are shown through `display`, what runs stays as it is. */
export function approvalCard(
  call: CallOnCard,
  tool: Tool | undefined,
  verdict: Verdict,
  display: Display = asItIs,
): Card {
  const body = bodyOf(call, tool, verdict, display);
  return { taskId: uuidv7(), title: titleOf(body), body: JSON.stringify(body) };
}

/** The card of a call whose effect nobody can vouch for; `verdict` is what the gate says of running it again. */
export function outcomeCard(
  call: CallOnCard,
  tool: Tool | undefined,
  verdict: Verdict,
  known: string,
  display: Display = asItIs,
): Card {
  const body: CardBody = {
    ...bodyOf(call, tool, verdict, display),
    row: "outcome",
    reason: "outcome_unknown",
    known: visibleText(display(known)),
  };
  return { taskId: uuidv7(), title: `Did it happen? ${titleOf(body)}`, body: JSON.stringify(body) };
}

function bodyOf(call: CallOnCard, tool: Tool | undefined, verdict: Verdict, display: Display): CardBody {
  const show = (text: string): string => visibleText(display(text));
  // String by string: nothing that is hidden in one may take others, or a number, with it.
  const showJson = (json: string): string => visibleText(mapJsonStrings(json, display) ?? display(json));
  const { proposal, options = [], narration = "", definitionChange } = call;
  const units = unitsOf(tool, verdict.args);
  const remembers = rememberedKeys(units);
  const lookalikes = units
    .flatMap(({ text }) => findLookalikes(display(text)))
    .slice(0, mostLookalikes)
    .map(({ character, word }) => show(`${character} (${codeOf(character)}) in ${displayText(word, 100)}`));
  return {
    tool: call.name,
    args: showJson(call.args),
    argsHash: call.argsHash,
    ...(call.isEdited === true ? { isEdited: true } : {}),
    details: detailsOf(tool, verdict.args).map(show),
    units: units.map(({ text }) => show(text)),
    ...(tool?.units === undefined || (units.length > 0 && units.every((unit, n) => remembers[n] === unit.text))
      ? {}
      : { remembers: remembers.map(show) }),
    ...(proposal === undefined || proposal.message === "" ? {} : { message: show(proposal.message) }),
    ...(proposal?.preview === undefined ? {} : { preview: show(proposal.preview) }),
    ...(proposal === undefined || proposal.preconditions.length === 0
      ? {}
      : { preconditions: proposal.preconditions.map((one) => ({ ...one, name: show(one.name) })) }),
    ...(options.length === 0 ? {} : { options: options.map((option) => shownOption(option, show)) }),
    ...(options.length === 0 || verdict.role === undefined ? {} : { role: show(verdict.role) }),
    ...(definitionChange === undefined
      ? {}
      : { definitionChange: { before: showJson(definitionChange.before), after: showJson(definitionChange.after) } }),
    row: verdict.row,
    reason: visibleText(verdict.reason),
    floorReasons: verdict.floorReasons ?? [],
    requires: call.requires,
    ...(lookalikes.length === 0 ? {} : { lookalikes }),
    ...(narration.trim() === "" ? {} : { narration: displayText(show(narration), longestNarration) }),
  };
}

/** The id stays as it is, since it is what a decision names. */
function shownOption({ id, label, detail }: Option, show: Display): Option {
  return { id, label: show(label), ...(detail === undefined ? {} : { detail: show(detail) }) };
}

/** The card of a question; its title is shown through `display`. */
export function questionCard({ question }: Question, display: Display = asItIs): Card {
  return { taskId: uuidv7(), title: displayText(display(question), 200), body: "{}" };
}

function titleOf({ tool, details }: CardBody): string {
  return displayText([tool, details[0]].filter(Boolean).join(": "), 200);
}

/** A tool whose `details` fail still gets its card: the arguments are on it whole. */
function detailsOf(tool: Tool | undefined, parsedArgs: unknown): readonly string[] {
  try {
    return tool?.details?.(parsedArgs as never) ?? [];
  } catch {
    return [];
  }
}

/** Where the units cannot be told, the gate asks for that very reason. */
function unitsOf(tool: Tool | undefined, parsedArgs: unknown): readonly Unit[] {
  try {
    const units: Units = tool?.units?.(parsedArgs as never) ?? [];
    return "kind" in units
      ? []
      : units.map((unit) => (typeof unit === "string" ? { text: unit } : { ...unit, text: unit.text }));
  } catch {
    return [];
  }
}
