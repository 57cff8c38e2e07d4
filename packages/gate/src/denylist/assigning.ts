import type { FoundCommand } from "../shell/found.ts";
import { baseName } from "../shell/key.ts";

const declarers = new Set(["declare", "typeset", "local", "readonly", "export"]);
const setters = new Set(["read", "unset", "printf", "mapfile", "readarray", "getopts", "wait"]);
const evaluators = new Set(["let", "eval", "source", "."]);

/** Whether a command may set the variable, other than by an assignment that the parser saw as one. */
export function mayAssign({ words }: FoundCommand, name: string): boolean {
  const [program, ...args] = words;
  const own = baseName(program?.value ?? "");
  const mentions = new RegExp(String.raw`(?<!\w)${name}(?!\w)`);
  if (evaluators.has(own)) return args.some(({ value, variable }) => variable === undefined && mentions.test(value));
  const isTarget = new RegExp(String.raw`^(?:-[A-Za-z]+)?${name}(?:\[.*)?$`, "s");
  if (setters.has(own)) return args.some(({ value, variable }) => variable === undefined && isTarget.test(value));
  if (!declarers.has(own)) return false;
  const isReference = args.some(({ value }) => /^-[A-Za-z]*n/.test(value));
  return args.some(({ text, value }) =>
    isReference ? mentions.test(value) : text !== value && value.split(/[=[+]/)[0] === name,
  );
}

/** Whether a command makes one of the names mean something else. */
export function assignsAlias({ words }: FoundCommand, fits: (name: string) => boolean): boolean {
  const [program, ...args] = words;
  const isNaming = ["alias", "hash", "enable"].includes(baseName(program?.value ?? ""));
  return isNaming && args.some(({ value }) => fits(value.split("=")[0] ?? ""));
}

/** Whether the texts among its arguments run where its own variables are. */
export function runsInSameShell({ words }: FoundCommand): boolean {
  return ["eval", "trap"].includes(baseName(words[0]?.value ?? ""));
}
