/** Numbers from 0 to 1 that are the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Programs of the generated commands; `no` fails, so that loops end. Nothing else is ever called by name. */
export const programs = ["aa", "bb", "cc", "git status", "git rm", "rmdir", "no"] as const;

/**
 * A command line that a shell can mostly parse, with commands wherever the grammar lets them hide. Safe to run: it calls
 * `programs`, writes files whose names begin with `w`, and every loop ends.
 */
export function randomCommand(random: () => number): string {
  const pick = <T>(choices: readonly [T, ...T[]]): T => choices[Math.floor(random() * choices.length)] ?? choices[0];
  const make = (makers: readonly [() => string, ...(() => string)[]]): string => pick<() => string>(makers)();
  const chance = (share: number): boolean => random() < share;
  let heredocs: string[] = [];

  const substitution = (depth: number): string =>
    make([
      () => `$(${list(depth - 1)})`,
      () => `$( ${simple(0)} )`,
      () => `\`${simple(0)}\``,
      () => `\${v:-${chance(0.5) ? `$(${simple(0)})` : "x"}}`,
      () => `\${v#${chance(0.5) ? `\`${simple(0)}\`` : "x"}}`,
      () => `$((1+$(${simple(0)})))`,
      () => "$v",
    ]);

  const word = (depth: number): string =>
    make([
      () => pick(["x", "-n", "--flag=1", "a.b", "/dev/null", "#x", "x#y", "=", "'a; bb'", "'$(cc)'", "\\;", "\\#"]),
      () => `"q ${depth > 0 ? substitution(depth) : "x"} 'y"`,
      () => `'${pick(["a b", "&&", "|", "`bb`", "\\"])}'`,
      () => (depth > 0 ? substitution(depth) : "y"),
      () => pick(["*.zz", "[ab]", "{x,y}", "~nobody", "$'a\\'b'", '$"t"', "a\\\nb", "é", '"é"']),
      () => (depth > 0 ? `<(${list(depth - 1)})` : "z"),
      () => `x${pick(["'y'", '"z"', "\\ w"])}`,
    ]);

  const redirect = (depth: number): string =>
    make([
      () => `> ${pick(["w1", "'w 3'", "w2", "/dev/null"])}`,
      () => `${pick([">>", "2>", ">|", "1>"])}w1`,
      () => pick(["2>&1", ">&2", "2>&-", "</dev/null"]),
      () => `> "${depth > 0 ? "w$(no)1" : "w1"}"`,
      () => `<<< ${depth > 0 ? `"$(${simple(0)})"` : "here"}`,
      () => {
        const isQuoted = chance(0.5);
        heredocs.push(depth > 0 && chance(0.6) ? `$(${simple(0)})\nE` : "text `\nE".replace("`", isQuoted ? "`" : "'"));
        return isQuoted && !heredocs.at(-1)?.startsWith("$") ? "<<'E'" : "<<E";
      },
    ]);

  const simple = (depth: number): string => {
    const parts: string[] = [];
    if (chance(0.08)) parts.push(`v=${depth > 0 && chance(0.5) ? substitution(depth) : "1"}`);
    parts.push(
      chance(0.85)
        ? pick([...programs])
        : pick(["'aa'", "b\\b", "echo", "true", ":", '"cc"', "a''a", "command aa", "$'aa'", "time -p aa", "test x"]),
    );
    for (let count = Math.floor(random() * 3); count > 0; count -= 1) parts.push(word(depth));
    if (depth > 0 && chance(0.2)) parts.push(redirect(depth));
    return parts.join(pick([" ", " ", "  ", "\t", " \\\n "]));
  };

  const compound = (depth: number): string =>
    make([
      () => `( ${list(depth - 1)} )`,
      () => `{ ${list(depth - 1)}; }`,
      () => `if ${list(depth - 1)}; then ${list(depth - 1)}; else ${simple(depth)}; fi`,
      () => `for v in ${word(depth - 1)} x; do ${list(depth - 1)}; done`,
      () => `while no; do ${simple(depth)}; done`,
      () => `case ${word(depth - 1)} in x) ${list(depth - 1)};; *) ${simple(depth)};; esac`,
      () => `f() { ${simple(depth)}; }; f`,
      () => `! ${simple(depth)}`,
      () => `time ${simple(depth)}`,
      () => `[[ x = ${word(0)} ]]`,
      () => `(( 1 + ${Math.floor(random() * 9)} ))`,
      () => `{ ${list(depth - 1)}; } > w2`,
      () => `# ${simple(0)}`,
    ]);

  const list = (depth: number): string => {
    const parts: string[] = [];
    for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) {
      parts.push(depth > 0 && chance(0.3) ? compound(depth) : simple(depth));
      if (count > 1) parts.push(pick([" && ", " || ", "; ", " | ", "\n", " & ", ";", "|", " |\n"]));
      if (heredocs.length > 0 && (parts.at(-1) === "\n" || count === 1)) {
        // A here-document's body begins at the next line.
        parts.push(`${parts.at(-1) === "\n" ? "" : "\n"}${heredocs.join("\n")}\n`);
        heredocs = [];
      }
    }
    return parts.join("");
  };
  return list(3);
}

const noise = [
  "'",
  '"',
  "`",
  "$(",
  ")",
  "${",
  "}",
  "\\",
  "\n",
  ";",
  "&&",
  "|",
  "<<E",
  ">",
  "#",
  "$((",
  "))",
  "é",
  "\u200b",
  "\r",
  "\u00a0",
  "then",
  "fi",
  "{",
  "\\\n",
  "$'",
  "[[",
  "]]",
  "((",
  "*",
  "~",
  "=",
  "-",
  "!",
  "&",
] as const;

/** A command line with something cut out of it or put into it, several times. */
export function mutate(command: string, random: () => number): string {
  let text = command;
  for (let count = 1 + Math.floor(random() * 4); count > 0; count -= 1) {
    const at = Math.floor(random() * (text.length + 1));
    const isCut = random() < 0.4;
    const put = noise[Math.floor(random() * noise.length)] ?? "";
    text = isCut
      ? text.slice(0, at) + text.slice(at + 1 + Math.floor(random() * 3))
      : text.slice(0, at) + put + text.slice(at);
  }
  return text;
}
