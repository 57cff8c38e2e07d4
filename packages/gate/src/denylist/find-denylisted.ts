import type { Denylisted } from "../unit.ts";
import type { Analysis } from "../shell/analyze.ts";
import { commandsOf, type Found, type FoundCommand, type FoundFile, type Trouble } from "../shell/found.ts";
import { assignsAlias, mayAssign, runsInSameShell } from "./assigning.ts";
import { accountFiles, accounts } from "./accounts.ts";
import { deleting } from "./deleting.ts";
import { diskFiles, disks, kernel } from "./disks.ts";
import { findFlows, flowPatterns } from "./flows.ts";
import { network } from "./network.ts";
import { type CommandPattern, type FilePattern, readCommand } from "./pattern.ts";
import { power } from "./power.ts";
import { privilege } from "./privilege.ts";

const commandPatterns: readonly CommandPattern[] = [
  ...privilege,
  ...deleting,
  ...disks,
  ...kernel,
  ...accounts,
  ...power,
  ...network,
];
const filePatterns: readonly FilePattern[] = [...accountFiles, ...diskFiles];

/** Everything on the denylist, each name once, with what it does in words for people and the model. */
export const denylist: readonly Denylisted[] = [
  ...new Map(
    [
      ...[...commandPatterns, ...filePatterns].map(({ name, reason }) => ({ name, reason })),
      ...Object.entries(flowPatterns).map(([name, reason]) => ({ name, reason })),
    ].map((one) => [one.name, one]),
  ).values(),
];

/** What of a command line is on the denylist, by the command, file or construct that it was found at. */
export type Findings = ReadonlyMap<FoundCommand | FoundFile | Trouble, readonly Denylisted[]>;

/**
 * Looks for what a confused program should not be able to do by accident. It is no sandbox: whoever wants to get around it
 * can (a variable for a name, an encoding, a script in a file). Commands are looked at through wrappers and shell texts.
 */
export function findDenylisted(analysis: Analysis, outerTempFolders: ReadonlySet<string> = new Set()): Findings {
  const findings = new Map<FoundCommand | FoundFile | Trouble, Denylisted[]>();
  const add = (at: FoundCommand | FoundFile | Trouble, { name, reason }: Denylisted): void => {
    const all = findings.get(at) ?? [];
    if (!all.some((one) => one.name === name)) findings.set(at, [...all, { name, reason }]);
  };
  const { found } = analysis;
  found.items.forEach((item, position) => {
    if (item.kind === "file") {
      const { word, isWrite } = item.file;
      for (const pattern of filePatterns) if (pattern.fits(word.value, isWrite)) add(item.file, pattern);
    }
    if (item.kind !== "command") return;
    const { command } = item;
    const tempFolders = new Set([...outerTempFolders, ...tempFoldersAt(found, position, command)]);
    for (const words of analysis.readings.get(command) ?? []) {
      const read = readCommand(words, tempFolders);
      for (const pattern of commandPatterns) if (pattern.fits(read)) add(command, pattern);
    }
    for (const inner of analysis.inner.get(command) ?? []) {
      const known = runsInSameShell(command) ? tempFolders : undefined;
      for (const one of [...findDenylisted(inner, known).values()].flat()) add(command, one);
    }
  });
  for (const { name, at } of findFlows(analysis)) {
    const place = typeof at === "string" ? functionOf(found, at) : at;
    if (place !== undefined) add(place, { name, reason: flowPatterns[name] });
  }
  return findings;
}

function functionOf(found: Found, text: string): Trouble | undefined {
  const item = found.items.find((one) => one.kind === "trouble" && one.trouble.text === text);
  return item?.kind === "trouble" ? item.trouble : undefined;
}

/**
 * The variables that surely hold a temporary folder when a command runs: set from `mktemp -d` before it, in its own process
 * and wherever it comes to run at all, and by nothing else in the whole line.
 */
function tempFoldersAt(found: Found, position: number, { blocks }: FoundCommand): readonly string[] {
  const { assignments, functions } = found;
  const commands = commandsOf(found);
  const isOther = (name: string): boolean => name === "mktemp" || name === "rm";
  if (functions.some(isOther) || commands.some((command) => assignsAlias(command, isOther))) return [];
  if (assignments.some(({ name }) => name === "IFS")) return [];
  const names = assignments
    .filter((one) => one.isTempFolder && one.position <= position)
    .filter((one) => one.blocks.every((block, level) => block === blocks[level]))
    .map(({ name }) => name);
  return names.filter(
    (name) =>
      assignments.every((one) => one.name !== name || one.isTempFolder) &&
      !commands.some((command) => mayAssign(command, name)),
  );
}
