import type { Denylisted, Unit, UnitsRefused } from "../unit.ts";
import { analyze, readingsIn, readingsOf } from "./analyze.ts";
import { isAscii } from "./characters.ts";
import { denyForms } from "./deny-forms.ts";
import { findDenylisted } from "../denylist/find-denylisted.ts";
import type { FoundCommand, FoundFile } from "./found.ts";
import { baseName, keyOf, quoteWords } from "./key.ts";
import { isOutside } from "./root.ts";

/** What a command line may have at most. */
const mostCommandBytes = 8_192;
const mostUnits = 64;

const tooMany: UnitsRefused = {
  kind: "refused",
  problem: `the command does more than ${mostUnits} things; at most ${mostUnits} can be looked at, and only so much inside of each other`,
};

export interface CommandContext {
  /** The folder that the command may read freely, absolute; without one, what it names relative to where it runs. */
  readonly root?: string;
  /** A repository that strangers wrote: its configuration may name programs that git runs unasked. */
  readonly isUntrusted?: true;
}

/**
 * What a command line does, one unit for each simple command that bash would run from it, wherever it stands, for each file
 * that a redirect writes or reads from outside of the root, and for each construct that keeps it from being vouched for. At
 * least one, of which no entry can vouch where nothing would run. Refused: over 8 KB, over 64 units, control characters
 * other than tab, LF and CR.
 */
export function unitsOfCommand(text: string, context: CommandContext = {}): readonly Unit[] | UnitsRefused {
  const problem = faultOfCommand(text);
  if (problem !== undefined) return { kind: "refused", problem };
  const analysis = analyze(text);
  if (analysis === undefined) return tooMany;
  const denylisted = findDenylisted(analysis);
  const { items } = analysis.found;
  const units = items.flatMap((item, at): Unit[] => {
    switch (item.kind) {
      case "trouble":
        return [{ text: item.trouble.text, unkeyable: item.trouble.why, ...hits(denylisted.get(item.trouble)) }];
      case "file":
        return unitOfFile(item.file, context, denylisted.get(item.file));
      case "command": {
        const { command } = item;
        const isLast = items.slice(at + 1).every((later) => later.kind === "file" && later.file.command === command);
        const key = keyInContext(command, context, isLast && command.isTopLevel);
        const commands = denyForms(readingsOf(analysis, command));
        return [{ text: command.text, ...key, commands, ...hits(denylisted.get(command)) }];
      }
    }
  });
  const all = [...units, ...unitsAsShReadsIt(text)];
  if (all.length > mostUnits) return tooMany;
  return all.length === 0 ? [{ text, unkeyable: "no_command" }] : all;
}

/** What makes a command line invalid whatever it says: its size, or control characters. Undefined where nothing does. */
export function faultOfCommand(text: string): string | undefined {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > mostCommandBytes) return `the command has ${bytes} bytes, at most ${mostCommandBytes} are allowed`;
  if (/(?![\t\n\r])\p{Cc}/u.test(text))
    return "the command contains a control character other than tab, line feed and carriage return";
  return text.isWellFormed() ? undefined : "the command contains half a character";
}

function keyInContext(
  command: FoundCommand,
  { isUntrusted }: CommandContext,
  isLast: boolean,
): ReturnType<typeof keyOf> {
  const name = baseName(command.words[0]?.value ?? "");
  // What follows would run in another folder.
  if (name === "cd" && !isLast) return { unkeyable: "shell_state" };
  if (name === "git" && isUntrusted) return { unkeyable: "untrusted_repository" };
  return keyOf(command);
}

function unitOfFile(
  { text, word, isWrite }: FoundFile,
  { root }: CommandContext,
  denylisted: readonly Denylisted[] | undefined,
): Unit[] {
  if (isWrite && word.value === "/dev/null" && word.unknown === undefined) return [];
  const isFree = !isWrite && word.unknown === undefined && !isOutside(word.value, root);
  if (isFree && isAscii(word.bare) && denylisted === undefined) return [];
  const key = isAscii(word.value)
    ? { key: `${isWrite ? ">" : "<"} ${quoteWords([word.value])}` }
    : { unkeyable: "non_ascii" };
  return [
    {
      text,
      ...(word.unknown === undefined ? key : { unkeyable: word.unknown }),
      ...(isWrite && { isWrite }),
      ...hits(denylisted),
    },
  ];
}

/**
 * Where `sh` and bash read the text differently, what `sh` would run as well: `$'…'` is no quote of its own there, `[[` and
 * `((` are no syntax, and `time` is a program with options. Nobody can vouch for such a text; this is for what denies.
 */
function unitsAsShReadsIt(text: string): Unit[] {
  const asSh = text
    .replaceAll("$'", "_'")
    .replaceAll("[[", "__")
    .replaceAll(/(?<!\$)\(\(/g, "( (")
    .replaceAll(/\btime(?=[ \t]+-)/g, "command time");
  if (asSh === text) return [];
  const analysis = analyze(asSh);
  if (analysis === undefined) return [{ text, unkeyable: "bash_only" }];
  const denylisted = [...findDenylisted(analysis).values()].flat();
  return [{ text, unkeyable: "bash_only", commands: denyForms(readingsIn(analysis)), ...hits(denylisted) }];
}

function hits(denylisted: readonly Denylisted[] | undefined): { denylisted?: readonly Denylisted[] } {
  return denylisted === undefined || denylisted.length === 0 ? {} : { denylisted };
}
