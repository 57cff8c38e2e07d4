import {
  type AndOr,
  type Assignment,
  type Command,
  forEachChild,
  type Function as FunctionNode,
  parse,
  type Pipeline,
  type Redirection,
  type SyntaxNode,
} from "unbash";
import type { Found, FoundCommand, PipeStage } from "./found.ts";
import { isTempFolder } from "./temp-folder.ts";
import { hasLeftovers, type Span } from "./leftovers.ts";
import { troubleOf } from "./troubles.ts";
import { readWord, type ShellWord } from "./words.ts";

/** Far more than 8 KB of anything sensible has: parts in all, and substitutions in one another. */
const mostNodes = 20_000;
const mostLevels = 24;

interface Place {
  readonly source: string;
  readonly parent: FoundCommand | undefined;
  readonly stages: readonly PipeStage[];
  readonly isTopLevel: boolean;
  readonly isBackground: boolean;
  readonly level: number;
  readonly functions: readonly FunctionNode[];
  readonly blocks: readonly number[];
}

interface Walk {
  readonly found: Found;
  readonly text: string;
  /** Every construct that was visited, with the text that its positions are of. */
  readonly visited: { readonly node: SyntaxNode; readonly source: string }[];
  /** The bodies of here-documents, by the text they stand in. */
  readonly bodies: Map<string, Span[]>;
  pipelines: number;
  blocks: number;
  isBroken: boolean;
}

/**
 * Finds every simple command that bash would run from the text, wherever it stands, every file that a redirect opens, and
 * everything that keeps the text from being understood. Never throws: what cannot be read is trouble.
 */
export function collect(text: string): Found {
  const walk: Walk = {
    found: { items: [], assignments: [], functions: [], bombs: [], isTooMuch: false },
    text,
    visited: [],
    bodies: new Map(),
    pipelines: 0,
    blocks: 0,
    isBroken: false,
  };
  try {
    visit(walk, parse(text), {
      source: text,
      parent: undefined,
      stages: [],
      isTopLevel: true,
      isBackground: false,
      level: 0,
      functions: [],
      blocks: [],
    });
    const isUncovered = walk.visited.some(({ node, source }) =>
      hasLeftovers(node, source, walk.bodies.get(source) ?? []),
    );
    // A backslash with nothing after it, which the shells read in several ways.
    if (isUncovered || /(?:^|[^\\])(?:\\\\)*\\$/.test(text)) report(walk, "syntax");
  } catch {
    report(walk, "syntax");
  }
  return walk.found;
}

/** Once for the whole text: what cannot be read may be anything. */
function report(walk: Walk, why: string): void {
  if (!walk.isBroken) walk.found.items.push({ kind: "trouble", trouble: { text: walk.text, why } });
  walk.isBroken = true;
}

function visit(walk: Walk, node: SyntaxNode, place: Place): void {
  walk.visited.push({ node, source: node.type === "Script" ? (node.source ?? place.source) : place.source });
  if (walk.visited.length > mostNodes || place.level > mostLevels) {
    walk.found.isTooMuch = true;
    return;
  }
  const why = troubleOf(node);
  if (why !== undefined) walk.found.items.push({ kind: "trouble", trouble: { text: headOf(node, place), why } });
  const inner: Place = { ...place, isTopLevel: false };
  switch (node.type) {
    case "Script":
      return visitScript(walk, node, place);
    case "Statement":
      return visit(
        walk,
        node.command,
        node.background === true ? { ...inBlock(walk, inner), isBackground: true } : place,
      );
    case "AndOr":
      return visitAndOr(walk, node, place);
    case "CompoundList":
      return visitChildren(walk, node, inBlock(walk, inner));
    case "Pipeline":
      return visitPipeline(walk, node, place);
    case "Function":
      walk.found.functions.push(node.name.value);
      return visitChildren(walk, node, { ...inner, functions: [...place.functions, node] });
    case "Command":
      return visitCommand(walk, node, place);
    case "Redirect":
      visitRedirect(walk, node, place);
      return visitChildren(walk, node, inner);
    case "Assignment":
      noteAssignment(walk, node.name, place, isTempFolder(node));
      return visitChildren(walk, node, inner);
    case "HereDoc":
      noteBody(walk, { pos: node.body.pos, end: node.closing?.end ?? node.body.end }, place);
      return visitChildren(walk, node, inner);
    case "For":
    case "Select":
      noteAssignment(walk, node.name.value, place);
      return visitChildren(walk, node, inner);
    case "ParameterExpansion":
      if (node.operation?.type === "Default" && node.operation.operator.endsWith("="))
        noteAssignment(walk, node.parameter, place);
      return visitChildren(walk, node, inner);
    case "ArithmeticWord":
      // It may stand before a `=`.
      noteAssignment(walk, node.value, place);
      return visitChildren(walk, node, inner);
    case "FileDescriptorVariable":
      return noteAssignment(walk, node.name, place);
    default:
      return visitChildren(walk, node, inner);
  }
}

function visitChildren(walk: Walk, node: SyntaxNode, place: Place): void {
  forEachChild(node, (child) => visit(walk, child, place));
}

function visitScript(walk: Walk, node: Extract<SyntaxNode, { type: "Script" }>, place: Place): void {
  if ((node.errors?.length ?? 0) > 0) report(walk, "syntax");
  // A script in backquotes is decoded first, and has positions of its own.
  const inner = place.level === 0 ? place : inBlock(walk, place);
  visitChildren(walk, node, { ...inner, source: node.source ?? place.source, level: place.level + 1 });
}

/** What follows `&&` runs only after what is before it did, and what follows `||` perhaps not at all. */
function visitAndOr(walk: Walk, node: AndOr, place: Place): void {
  let inner = place;
  node.commands.forEach((command, index) => {
    const isChain = node.operators.slice(0, index).every((operator) => operator === "&&");
    if (index > 0) inner = inBlock(walk, isChain ? inner : place);
    visit(walk, command, inner);
  });
}

function visitPipeline(walk: Walk, node: Pipeline, place: Place): void {
  walk.pipelines += 1;
  const pipeline = walk.pipelines;
  const isPiped = node.commands.length > 1;
  node.commands.forEach((command, stage) => {
    const stages = isPiped ? [...place.stages, { pipeline, stage }] : place.stages;
    visit(walk, command, {
      ...(isPiped ? inBlock(walk, place) : place),
      stages,
      isTopLevel: place.isTopLevel && !isPiped,
    });
  });
}

function visitCommand(walk: Walk, node: Command, place: Place): void {
  const { found } = walk;
  const words = [
    ...(node.name ? [readWord(node.name)] : []),
    ...node.suffix.flatMap((part): ShellWord[] => {
      if (part.type === "Word") return [readWord(part)];
      return part.type === "Assignment" ? [assignmentWord(part)] : [];
    }),
  ];
  const command: FoundCommand = {
    text: place.source.slice(node.pos, node.end),
    words,
    hasAssignment: node.prefix.some((part) => part.type === "Assignment"),
    isTopLevel: place.isTopLevel,
    parent: place.parent,
    stages: place.stages,
    blocks: place.blocks,
    input: inputOf(node.redirects),
  };
  if (words.length > 0 || command.hasAssignment) found.items.push({ kind: "command", command });
  const called = place.functions.find(({ name }) => name.value === words[0]?.value);
  if (called && (place.isBackground || place.stages.length > 0)) {
    found.bombs.push(place.source.slice(called.pos, called.end));
  }
  // What is assigned in front of a command is so for that command alone.
  const inner = words.length > 0 && command.hasAssignment ? inBlock(walk, place) : place;
  visitChildren(walk, node, { ...inner, parent: command, isTopLevel: false, isBackground: false });
}

function assignmentWord(node: Assignment): ShellWord {
  const { text } = node;
  return { text, value: text, bare: text, start: node.name, mayBeOption: true, unknown: "expansion" };
}

function visitRedirect(walk: Walk, node: Extract<Redirection, { type: "Redirect" }>, place: Place): void {
  const { operator, target } = node;
  if (target === undefined) return report(walk, "syntax");
  const word = readWord(target);
  const isDescriptor = /^(?:\d+-?|-)$/.test(word.value) && word.unknown === undefined;
  if ((operator === ">&" || operator === "<&") && isDescriptor) return;
  const isWrite = operator !== "<" && operator !== "<&";
  const text = place.source.slice(node.pos, node.end);
  walk.found.items.push({ kind: "file", file: { text, word, isWrite, command: place.parent } });
}

function noteBody({ bodies }: Walk, span: Span, { source }: Place): void {
  bodies.set(source, [...(bodies.get(source) ?? []), span]);
}

function noteAssignment({ found }: Walk, name: string, { blocks }: Place, holdsTempFolder = false): void {
  found.assignments.push({ name, position: found.items.length, isTempFolder: holdsTempFolder, blocks });
}

/** A part that may not run, or runs in a process of its own. */
function inBlock(walk: Walk, place: Place): Place {
  walk.blocks += 1;
  return { ...place, blocks: [...place.blocks, walk.blocks] };
}

function inputOf(redirects: readonly Redirection[]): string | undefined {
  const last = redirects.findLast(({ type }) => type !== "Redirect");
  if (last?.type === "HereDoc") return last.body.text;
  return last?.type === "HereString" ? last.target?.value : undefined;
}

/** What a person needs to see of a construct: all of it, but of a loop or a function only its head. */
function headOf(node: SyntaxNode, { source }: Place): string {
  const end = "body" in node && typeof node.body === "object" && "pos" in node.body ? node.body.pos : node.end;
  return source.slice(node.pos, node.type === "Function" || end <= node.pos ? node.end : end).trim();
}
