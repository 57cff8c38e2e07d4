import { type Analysis, analyze, readingsIn } from "./analyze.ts";
import { filesOf } from "./found.ts";
import { baseName } from "./key.ts";
import type { ShellWord } from "./words.ts";

/**
 * The danger in a command that runs in a folder it is meant to stay in: `outside_root` where a word of it is a path that
 * leads out, `unknown_path` where a word begins with what only the shell knows. Looks at the text alone: it cannot know
 * links, nor what a program does with a name.
 */
export function dangerOfCommand(
  text: string,
  { root, cwd = root }: { readonly root: string; readonly cwd?: string },
): "outside_root" | "unknown_path" | undefined {
  const analysis = analyze(text);
  if (analysis === undefined) return "unknown_path";
  if (leadsOut(cwd, root) || pathsIn(analysis).some((path) => leadsOut(resolve(path, cwd), root)))
    return "outside_root";
  return hasUnknownPath(analysis) ? "unknown_path" : undefined;
}

/** Whether a path leads out of the root; without a root, out of the folder that the command runs in. */
export function isOutside(path: string, root: string | undefined): boolean {
  if (path === "/dev/null") return false;
  const at = root ?? "/.here";
  return leadsOut(resolve(path, at), at);
}

function leadsOut(path: string, root: string): boolean {
  const [inside, outer] = [partsOf(path), partsOf(root)];
  return !outer.every((part, index) => inside[index] === part);
}

function resolve(path: string, cwd: string): string {
  if (path.startsWith("~")) return "/~";
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}

function partsOf(path: string): readonly string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}

/** Everything among the arguments and redirects that can be a path; what stands after `=` or `@` counts too. */
function pathsIn(analysis: Analysis): readonly string[] {
  const args = readingsIn(analysis).flatMap(([program, ...rest]) => {
    const values = rest.map(({ value }) => value);
    // Without a folder it goes to the home folder, or back to where the shell was.
    const goesHome = baseName(program?.value ?? "") === "cd" && values.every((value) => /^-[LPe@]*$/.test(value));
    return goesHome ? ["~"] : values;
  });
  const files = allFiles(analysis).map(({ word }) => word.value);
  return [...args, ...files]
    .map((word) => word.replaceAll(/(?<![a-z0-9+.-])([0-9+.-]*)[a-z][a-z0-9+.-]*:\/\/\S*/gi, "$1"))
    .flatMap((word) => [/^-[A-Za-z](?=[/~.])(.*)$/s.exec(word)?.[1] ?? word, ...word.split(/[=@]/).slice(1)])
    .filter((word) => word !== "" && word !== "/dev/null");
}

function hasUnknownPath(analysis: Analysis): boolean {
  const printers = new Set(["echo", "printf"]);
  const words = readingsIn(analysis).flatMap(([program, ...args]) =>
    printers.has(baseName(program?.value ?? "")) ? [] : args,
  );
  return [...words, ...allFiles(analysis).map(({ word }) => word)].some(mayLeadOut);
}

/** Whether the shell may make a path that leads out of a word whose text does not show one. */
function mayLeadOut({ text, bare, start, unknown }: ShellWord): boolean {
  if (unknown === undefined) return /^["']?[$`]/.test(text);
  switch (unknown) {
    case "glob":
      // `.*` and `.?` match `..`, but not in every shell.
      return /(?:^|\/)\.{1,2}[*?[]/.test(text);
    case "brace":
      return bracesLeadOut(text.replaceAll(/["'\\]/g, ""));
    case "tilde":
      return true;
    case "expansion":
    case "bash_only":
      // What has a space before it is a sentence rather than a path.
      return !/\s/.test(start) || /[$`]/.test(bare);
  }
}

/** `{/etc,a}`, `{.,}./a`: a slash that may come to stand first, or two dots that may come to stand alone. */
function bracesLeadOut(text: string): boolean {
  if (/[$`~]/.test(text) || (text.startsWith("{") && /[{},]\//.test(text))) return true;
  return text.split("/").some((part) => part.split(".").length > 2 && !/^[\w-][^,}]*\./.test(part));
}

function allFiles(analysis: Analysis): ReturnType<typeof filesOf> {
  const inner = [...analysis.inner.values()].flat().flatMap(allFiles);
  return [...filesOf(analysis.found), ...inner];
}
