import { forEachChild, type SyntaxNode } from "unbash";

/** From where to where, in the text that a node was read from. */
export interface Span {
  readonly pos: number;
  readonly end: number;
}

/** What may stand in a construct between its parts, blanks aside. No two repetitions meet, so each takes one look. */
const between: Readonly<Partial<Record<SyntaxNode["type"], RegExp>>> = {
  Script: /^(?:[ \t]*;)?[ \t\n]*$/,
  CompoundList: /^(?:[ \t]*;)?[ \t\n]*$/,
  Statement: /^[ \t\n]*&?$/,
  Command: /^[ \t]*$/,
  Redirected: /^[ \t]*$/,
  AndOr: /^[ \t]*(?:(?:&&|\|\|)[ \t\n]*)?$/,
  Pipeline: /^[ \t]*(?:\|&?[ \t\n]*)?$/,
  Subshell: /^[ \t\n]*(?:[()][ \t\n]*)?$|^[ \t\n]*(?:;[ \t\n]*)?\)$/,
  BraceGroup: /^(?:\{|[ \t\n]*(?:;[ \t\n]*)?\})?[ \t\n]*$/,
  If: words("if|then|else|fi"),
  Elif: words("elif|then"),
  While: words("while|until|do|done"),
  For: words("for|in|do|done|[{}]"),
  Case: words("case|in|esac"),
  CaseItem: /^(?:\s|;|&|[()|])*$/,
  Function: /^(?:[ \t\n]|[()]|\bfunction\b)*$/,
};

/** Blanks, or one of these words after the end of what is before it. */
function words(choice: string): RegExp {
  return new RegExp(String.raw`^[ \t]*(?:[;\n][ \t\n]*)?(?:(?:${choice})[ \t\n]*)?$`);
}

/**
 * Whether anything of a construct belongs to none of its parts: the parser passes over some text that a shell would
 * stumble over, or would read differently. `skipped` are the bodies of here-documents, which stand between other things.
 */
export function hasLeftovers(node: SyntaxNode, source: string, skipped: readonly Span[]): boolean {
  const allowed = between[node.type];
  if (allowed === undefined) return false;
  const parts: Span[] = [];
  forEachChild(node, (child) => parts.push(child));
  if (node.type === "Pipeline" && node.commands.length === 0) return true;
  let at = node.pos;
  for (const part of [...parts.toSorted((a, b) => a.pos - b.pos), { pos: node.end, end: node.end }]) {
    if (!allowed.test(textOf(source, at, part.pos, skipped))) return true;
    at = Math.max(at, part.end);
  }
  return false;
}

/** Without comments, joined lines and the bodies of here-documents. */
function textOf(source: string, from: number, to: number, skipped: readonly Span[]): string {
  if (from >= to) return "";
  let text = "";
  let at = from;
  for (const { pos, end } of skipped) {
    if (pos < at || pos >= to) continue;
    text += source.slice(at, pos);
    at = Math.min(end, to);
  }
  text += source.slice(at, to);
  return text.replaceAll("\\\n", "").replaceAll(/#[^\n]*/g, "");
}
