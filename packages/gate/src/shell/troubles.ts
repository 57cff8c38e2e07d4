import type { ArithmeticExpression, ParameterExpansionPart, SyntaxNode } from "unbash";

/** Constructs that are no trouble in themselves. Anything else that the parser may come to know is. */
const plainTypes: ReadonlySet<string> = new Set(
  "Script Statement CompoundList AndOr Pipeline Time Negation If Elif While Case CaseItem Subshell BraceGroup Redirected Command Word Assignment ArrayValue Redirect FileDescriptor HereString HereDocDelimiter HereDocBody Literal SingleQuoted DoubleQuoted SimpleExpansion Glob BraceExpansion CommandExpansion ProcessSubstitution ArithmeticExpansion ArithmeticBinary ArithmeticUnary ArithmeticTernary ArithmeticGroup Default Remove Replace CaseModification".split(
    " ",
  ),
);

/**
 * What a construct does that its commands do not show, or that `sh` and bash read differently; undefined where it does
 * nothing of that kind. A word's own expansions are no trouble: they show in what the word is.
 */
export function troubleOf(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case "Function":
      return "function";
    case "For":
    case "Select":
      return "assignment";
    case "ParameterExpansion":
      return troubleOfParameter(node);
    case "ArithmeticWord":
      return isNumber(node) ? undefined : "arithmetic";
    case "ArithmeticCommandExpansion":
      // What the command prints is evaluated, substitutions included.
      return "arithmetic";
    case "CommandExpansion":
    case "ProcessSubstitution":
      return node.script === undefined ? "syntax" : undefined;
    case "ArithmeticExpansion":
      return node.expression === undefined ? "arithmetic" : undefined;
    case "HereDoc":
      // Of a strange or missing end the parser and bash have different ideas.
      return node.closing !== undefined && isPlainDelimiter(node.delimiter?.text ?? "") ? undefined : "here_document";
    case "AnsiCQuoted":
    case "LocaleString":
    case "ExtendedGlob":
    case "TestCommand":
    case "ArithmeticCommand":
    case "ArithmeticFor":
    case "Coproc":
    case "FileDescriptorVariable":
      return "bash_only";
    case "TestUnary":
    case "TestBinary":
    case "TestLogical":
    case "TestNot":
    case "TestGroup":
    case "Slice":
    case "Transform":
    case "Names":
    case "Unknown":
      // What they stand in has been reported.
      return undefined;
    default:
      return plainTypes.has(node.type) ? undefined : "unknown_construct";
  }
}

/** An expansion that assigns, or that evaluates what a variable holds. */
function troubleOfParameter({ prefix, operation, index }: ParameterExpansionPart): string | undefined {
  // `${!_}`: the last argument before it is taken for a name, with whatever substitution its subscript holds.
  if (prefix === "!") return "expansion";
  if (index !== undefined && !/^(?:\d+|[@*])$/.test(index.text)) return "arithmetic";
  switch (operation?.type) {
    case undefined:
    case "Remove":
    case "Replace":
    case "CaseModification":
      return undefined;
    case "Default":
      return operation.operator.endsWith("=") ? "assignment" : undefined;
    case "Slice": {
      const isPlain = [operation.offset, operation.length].every((word) => !word || /^\s*-?\d+\s*$/.test(word.text));
      return isPlain ? undefined : "arithmetic";
    }
    default:
      return "expansion";
  }
}

/** A name would be looked up, and bash evaluates what it finds, substitutions included. */
function isNumber(node: ArithmeticExpression): boolean {
  return node.type === "ArithmeticWord" && /^\d+$/.test(node.value);
}

function isPlainDelimiter(text: string): boolean {
  return /^(?:[\w.-]+|'[\w.-]+'|"[\w.-]+"|\\[\w.-]+)$/.test(text);
}
