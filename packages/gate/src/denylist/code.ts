import { operandStarts } from "../shell/options.ts";
import { isInterpreter } from "../shell/programs.ts";
import { wrapperOf } from "../shell/wrappers.ts";
import { hasOption, operandsOf, type ReadCommand } from "./pattern.ts";

const shells = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split(" "));
const fetchers = new Set("curl wget aria2c axel fetch http https xh lwp-request lynx w3m elinks links".split(" "));

/** Whether a command brings in text that nobody has read: from the network, or out of an encoding. */
export function whatIsIt(command: ReadCommand): "fetch" | "decode" | undefined {
  if (fetchers.has(command.name)) return "fetch";
  const { name } = command;
  const isDecoder =
    (["base64", "base32", "basenc", "openssl"].includes(name) && hasOption(command, "dD", "decode")) ||
    (name === "xxd" && hasOption(command, "r", "revert")) ||
    name === "uudecode";
  return isDecoder ? "decode" : undefined;
}

/** Whether a command runs what it reads from its input. */
export function readsCode(command: ReadCommand): "shell" | "interpreter" | undefined {
  const { name } = command;
  if (name === "source" || name === ".")
    return operandsOf(command).slice(0, 1).some(isStandardInput) ? "shell" : undefined;
  const kind = shells.has(name) ? "shell" : isInterpreter(name) ? "interpreter" : undefined;
  if (kind === undefined || name === "eval") return undefined;
  const [script] = kind === "shell" ? operandsOfShell(command) : operandsOf(command);
  const isInput = script === undefined || script === "-" || isStandardInput(script);
  if (kind === "shell") {
    if (hasOption(command, "c")) return undefined;
    return isInput || hasOption(command, "s") ? "shell" : undefined;
  }
  return isInput && !hasOption(command, "cemprE", "eval", "print") ? "interpreter" : undefined;
}

/** Without options and their values: `-o pipefail`. */
function operandsOfShell({ name, words }: ReadCommand): readonly string[] {
  const [start = words.length] = operandStarts(words, 0, wrapperOf(name) ?? {});
  return words.slice(start).map(({ value }) => value);
}

function isStandardInput(path: string): boolean {
  return ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(path);
}

/** Whether a command runs its arguments, or a file that one of them stands for, as a program. */
export function runsText(command: ReadCommand): "shell" | "eval" | undefined {
  if (["eval", "source", "."].includes(command.name)) return "eval";
  return shells.has(command.name) || isInterpreter(command.name) ? "shell" : undefined;
}

/** The files that a fetching command names for what it fetches, without `./` in front. */
export function savedFiles({ name, args }: ReadCommand): readonly string[] {
  const named = args.flatMap((arg, at) => {
    const long = /^--output(?:-document)?(?:=(.*))?$/s.exec(arg);
    if (long) return [long[1] ?? args[at + 1] ?? ""];
    const short = (name === "wget" ? /^-[a-zA-Z]*?O(.*)$/s : /^-[a-zA-Z]*?o(.*)$/s).exec(arg);
    return short ? [short[1] || (args[at + 1] ?? "")] : [];
  });
  const keepsName = name === "wget" || args.some((arg) => /^-[a-zA-Z]*O|^--remote-name/.test(arg));
  const urls = args.filter((arg) => /^[a-z]+:\/\//i.test(arg) || /^[\w.-]+\.[a-z]{2,}\//i.test(arg));
  const own = keepsName ? urls.map((url) => url.replace(/[?#].*$/s, "").replace(/^.*\//s, "")) : [];
  return [...named, ...own].map((file) => file.replace(/^\.\//, "")).filter((file) => file !== "" && file !== "-");
}

/** Whether a command runs one of the files, by itself or in a shell or interpreter. */
export function runsFile(command: ReadCommand, program: string, files: ReadonlySet<string>): boolean {
  const isFile = (path: string): boolean => files.has(path.replace(/^\.\//, ""));
  if (program.includes("/") && isFile(program)) return true;
  if (shells.has(command.name)) return operandsOfShell(command).slice(0, 1).some(isFile);
  return isInterpreter(command.name) && operandsOf(command).slice(0, 1).some(isFile);
}
