import type { Command } from "commander";
import { CliError } from "../exit.ts";
import { addVerb } from "../verb.ts";

/** `countersign completion <shell>` */
export function addCompletionVerb(program: Command): void {
  addVerb(program, {
    usage: "completion <shell>",
    summary: "What a shell needs to complete these verbs: bash or zsh",
    isBare: true,
    run(cli, [shell = ""]) {
      if (shell !== "bash" && shell !== "zsh")
        throw new CliError("usage", `There is no completion for ${JSON.stringify(shell)}; there is for bash and zsh.`);
      const words = wordsOf(program);
      cli.terminal.write(shell === "bash" ? bashScript(words) : zshScript(words));
    },
  });
}

interface Word {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly string[];
  readonly under: readonly Word[];
}

function wordsOf(command: Command): Word[] {
  return command.commands.map((one) => ({
    name: one.name(),
    summary: one.description(),
    options: one.options.flatMap(({ long }) => (long === null || long === undefined ? [] : [long])),
    under: wordsOf(one),
  }));
}

/** Every place where a word can be completed: the words before it, and what may follow. */
function placesOf(
  words: readonly Word[],
  before: readonly string[] = [],
  own: readonly string[] = [],
): { before: string; next: string[] }[] {
  return [
    { before: before.join(" "), next: [...words.map(({ name }) => name), ...own] },
    ...words.flatMap((word) => {
      const at = [...before, word.name];
      return word.under.length > 0
        ? placesOf(word.under, at, word.options)
        : [{ before: at.join(" "), next: [...word.options] }];
    }),
  ];
}

function bashScript(words: readonly Word[]): string {
  const cases = placesOf(words).map(({ before, next }) => `    "${before}") next="${next.join(" ")}" ;;`);
  return `# In ~/.bashrc: source <(countersign completion bash)
_countersign() {
  local next="" verb="\${COMP_WORDS[1]}" sub=""
  [ "$COMP_CWORD" -gt 2 ] && sub="\${COMP_WORDS[2]}"
  [ "$COMP_CWORD" -eq 1 ] && verb=""
  case "\${verb}\${sub:+ $sub}" in
${cases.join("\n")}
    *) case "$verb" in
${cases.map((line) => `    ${line}`).join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _countersign countersign ./countersign
`;
}

function zshScript(words: readonly Word[]): string {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const described = (list: readonly Word[]): string =>
    list.map(({ name, summary }) => quote(`${name}:${summary.replaceAll(":", "\\:")}`)).join(" ");
  const groups = words
    .filter(({ under }) => under.length > 0)
    .map(({ name, under, options }) => {
      const rest = options.length === 0 ? "; return" : "";
      return `    ${name}) local -a verbs=(${described(under)}); _describe verb verbs${rest} ;;`;
    });
  const places = placesOf(words).filter(
    ({ before, next }) => before !== "" && next.some((word) => word.startsWith("-")),
  );
  const options = places.map(({ before, next }) => `    ${quote(before)}) compadd -- ${next.join(" ")} ;;`);
  return `#compdef countersign ./countersign
# In ~/.zshrc, after compinit: source <(countersign completion zsh)
_countersign() {
  if (( CURRENT == 2 )); then
    local -a verbs=(${described(words)})
    _describe verb verbs
    return
  fi
  if (( CURRENT == 3 )); then case "$words[2]" in
${groups.join("\n")}
  esac; fi
  case "$words[2] $words[3]" in
${options.filter((line) => / \S+ \S+'\)/.test(line.replace(/^ +'/, " "))).join("\n")}
  esac
  case "$words[2]" in
${options.filter((line) => /^ +'\S+'\)/.test(line)).join("\n")}
  esac
  _files
}
compdef _countersign countersign
`;
}
