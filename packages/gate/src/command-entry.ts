import { reachesUnit } from "./entries.ts";
import { unitsOfCommand } from "./shell/units.ts";

/** No more words of a command are kept to hold entries against. */
const mostWords = 60;

/**
 * What is wrong with the command of an entry; undefined where nothing is. One that allows must be the very key of some
 * command, since another would match nothing; one that denies or asks is words with one space between them, as they are
 * after the shell has read them.
 */
export function problemOfCommand(command: string, isAllowing: boolean): string | undefined {
  const words = command.split(" ");
  if (words.length > mostWords) return `it has ${words.length} words; at most ${mostWords} are held against a command`;
  if (words.includes("")) return "write its words with one space between them and none around";
  if (!isAllowing && /\s/.test(command.replaceAll(" ", ""))) return "write its words with one space between them";

  const units = unitsOfCommand(command);
  if (!isAllowing) {
    const isMet = !("kind" in units) && units.some((unit) => reachesUnit({ kind: "command", command }, unit));
    return isMet
      ? undefined
      : `${JSON.stringify(command)} is never met; write the words of one command, without quotes and signs of the shell`;
  }
  const [unit] = "kind" in units ? [] : units;
  if (unit === undefined || "kind" in units || units.length !== 1 || unit.isWrite === true) {
    return `${JSON.stringify(command)} is not one plain command`;
  }
  const { key, unkeyable } = unit;
  if (key === undefined) return `${JSON.stringify(command)} can never be allowed by name (${unkeyable ?? "no key"})`;
  return key === command
    ? undefined
    : `${JSON.stringify(command)} is never matched; such a command goes by ${JSON.stringify(key)}`;
}
