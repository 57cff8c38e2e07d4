/** A line, the last line, or a regex; a bracket expression never holds what ends it. */
const regexPart = String.raw`(?:\\[^\n]|\[\^?\]?(?:(?!\[[.=])[^\]\n/])*\]|[^\\\n[/])*`;
const oneAddress = String.raw`(?:\d+(?:~\d+)?|\$|/${regexPart}/I?)`;
const addresses = new RegExp(String.raw`^(?:${oneAddress}\s*(?:,\s*(?:[~+]\d+|${oneAddress})\s*)?)?!?\s*`);
const plainCommand = /^(?:[pPdDnNgGhHxzF=]|[qQl](?:\s*\d+)?)\s*(?=[;}\n]|$)/;
const substitutions = new Map<string, RegExp>();

/**
 * Whether a sed script only selects, prints and edits what passes through: it writes no file, runs no program and reads no
 * other file. Of what it cannot read it says no.
 */
export function isHarmlessSedScript(script: string): boolean {
  let rest = script.replace(/^[\s;{}]+/, "");
  while (rest !== "") {
    const command = rest.replace(addresses, "");
    const length = command.startsWith("{") && command !== rest ? 1 : lengthOf(command);
    if (length === undefined) return false;
    rest = command.slice(length).replace(/^[\s;{}]+/, "");
  }
  return true;
}

function lengthOf(command: string): number | undefined {
  const pattern = command.startsWith("s") ? substitution(command.charAt(1)) : plainCommand;
  return pattern?.exec(command)?.[0].length;
}

/** `s/…/…/` and its flags, without `w` and `e`. */
function substitution(delimiter: string): RegExp | undefined {
  if (!/^[/|#,:@!%_+=]$/.test(delimiter)) return undefined;
  let pattern = substitutions.get(delimiter);
  if (pattern === undefined) {
    const part = regexPart.replaceAll("/", `\\${delimiter}`);
    const end = `\\${delimiter}`;
    pattern = new RegExp(String.raw`^s${end}${part}${end}${part}${end}[gpIiMm\d]*\s*(?=[;}\n]|$)`);
    substitutions.set(delimiter, pattern);
  }
  return pattern;
}

/**
 * The scripts among the arguments of sed; undefined where an argument is none of those that are known. `-n` and its like
 * may come in groups.
 */
export function sedScriptsOf(args: readonly string[]): readonly string[] | undefined {
  const scripts: string[] = [];
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      operands.push(...args.slice(at + 1));
      break;
    }
    const [, group, attached] = /^-([nErsuz]*e)(.*)$/s.exec(arg) ?? [];
    const long = /^--expression(?:=(.*))?$/s.exec(arg);
    if (group !== undefined || long !== null) {
      const given = long === null ? attached || undefined : long[1];
      if (given === undefined) at += 1;
      scripts.push(given ?? args[at] ?? "");
    } else if (
      /^-[nErsuz]+$|^--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|posix|sandbox)$/.test(arg)
    ) {
      continue;
    } else if (arg.startsWith("-") && arg !== "-") return undefined;
    else operands.push(arg);
  }
  if (scripts.length > 0) return scripts;
  const [script] = operands;
  return script === undefined ? undefined : [script];
}
