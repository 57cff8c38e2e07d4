import { baseName, quoteWords } from "./key.ts";
import { listOf, operandStarts } from "./options.ts";
import { programOf } from "./programs.ts";
import type { ShellWord } from "./words.ts";
import { type Wrapper, wrapperOf } from "./wrappers.ts";

/** What a command may run: itself and what it wraps, as words, and the texts that it hands to a shell. */
export interface Unwrapped {
  readonly readings: readonly (readonly ShellWord[])[];
  readonly texts: readonly string[];
  /** There is more than was looked at. */
  readonly isTooMuch?: boolean;
}

/** Of all readings together: in a long command every wrapper is as many words again. */
const mostWords = 12_000;

/**
 * Looks through wrappers (`sudo`, `env`, `xargs`, `find -exec`, `sh -c` …) for the commands they run. Where it cannot be
 * known which word the wrapped command begins with, every possible one is given: good for denying, useless for allowing. Stops
 * after `most` readings, or as many words as nobody writes.
 */
export function unwrap(command: readonly ShellWord[], input: string | undefined, most: number): Unwrapped {
  const readings: (readonly ShellWord[])[] = [];
  const texts = new Set<string>();
  const open: (readonly ShellWord[])[] = [command];
  const seen = new Map<ShellWord, Set<number>>();
  let looked = 0;
  for (let words = open.shift(); words !== undefined; words = open.shift()) {
    looked += words.length;
    if (readings.length > most || looked > mostWords) return { readings, texts: [...texts], isTooMuch: true };
    const [first] = words;
    if (first === undefined || seen.get(first)?.has(words.length)) continue;
    seen.set(first, new Set([...(seen.get(first) ?? []), words.length]));
    readings.push(words);
    for (const { wrapper, from } of wrappersAt(words)) {
      const inner = lookInside(words, from, wrapper);
      open.push(...inner.readings);
      for (const text of inner.texts) texts.add(text);
      if (wrapper.holds === "first_text" && input !== undefined) texts.add(input);
    }
  }
  return { readings, texts: [...texts] };
}

/** The program as a wrapper, and the program with its subcommand. */
function wrappersAt(words: readonly ShellWord[]): readonly { wrapper: Wrapper; from: number }[] {
  const name = baseName(words[0]?.value ?? "");
  const found = wrapperOf(name);
  const own = found === undefined ? [] : [{ wrapper: found, from: 1 }];
  const known = programOf(name);
  const spec = { value: known?.globalValues ?? "", alone: known?.globalAlone ?? "" };
  const bySubcommand = operandStarts(words, 1, spec).flatMap((at) => {
    const wrapper = wrapperOf(`${name} ${words[at]?.value ?? ""}`);
    return wrapper === undefined ? [] : [{ wrapper, from: at + 1 }];
  });
  return [...own, ...bySubcommand];
}

function lookInside(words: readonly ShellWord[], from: number, wrapper: Wrapper): Unwrapped {
  const texts = [...textsOfOptions(words, from, wrapper), ...textsOfSettings(words, from, wrapper)];
  if (wrapper.actions !== undefined) return { readings: actionsOf(words, from, wrapper.actions), texts };
  const { holds = "words", operands = 0, isRepeat } = wrapper;
  if (holds === "nothing") return { readings: [], texts };
  const readings: (readonly ShellWord[])[] = [];
  const starts = operandStarts(words, from, wrapper).flatMap((start) =>
    // Options may stand behind what comes before the command as well.
    operands === 0 ? start : operandStarts(words, start + operands, wrapper),
  );
  for (const start of new Set(starts)) {
    let at = start;
    while (wrapper.assigns && /^\w+=/.test(words[at]?.value ?? "")) at += 1;
    const rest = words.slice(at);
    const [first] = rest;
    if (first === undefined) continue;
    if (holds === "text") texts.push(textOf(rest));
    else if (holds === "texts") texts.push(...rest.map(({ value }) => value));
    else if (holds === "first_text") texts.push(first.value);
    else readings.push(isRepeat ? [...words.slice(0, 1), ...rest] : rest);
    // No program has such a name: this one hands it to a shell.
    if (holds === "words" && /\s/.test(first.value)) texts.push(textOf(rest));
  }
  return { readings, texts };
}

/** Words as one text. What follows `:::` are values of `parallel`, and commands themselves where none stands before it. */
function textOf(words: readonly ShellWord[]): string {
  const values = words.map(({ value }) => value);
  const end = values.findIndex((value) => value.startsWith(":::"));
  return end === -1 ? values.join(" ") : [values.slice(0, end).join(" "), ...values.slice(end + 1)].join("\n");
}

/** Only the first such option counts, but which that is takes knowing every other; each one is a text as long as the rest. */
const mostJoined = 4;

/** The values of options that hold a shell text, where it goes on in the words after them together with those. */
function textsOfOptions(words: readonly ShellWord[], from: number, { texts = "", joinsTexts }: Wrapper): string[] {
  const all = valuesOf(words, from, texts);
  if (!joinsTexts) return all.map(({ value }) => value);
  return all.slice(0, mostJoined).map(({ value, rest }) => {
    const more = quoteWords(rest.map((word) => word.value));
    return more === "" ? value : `${value} ${more}`;
  });
}

/** `-c core.pager=…`, `-o ProxyCommand=…`: what the setting is set to; of an alias of git also as its subcommand. */
function textsOfSettings(words: readonly ShellWord[], from: number, { settings = "" }: Wrapper): string[] {
  return valuesOf(words, from, settings).flatMap(({ value }) => {
    const [, name = "", text] = /^([\w.-]+)[= ]\s*(.*)$/s.exec(value) ?? [];
    if (text === undefined) return [];
    return text.startsWith("!") ? [text.slice(1)] : /^alias\./i.test(name) ? [`git ${text}`] : [text];
  });
}

/** The values of some options, attached or as the next word, each with the words after it. */
function valuesOf(
  words: readonly ShellWord[],
  from: number,
  options: string,
): readonly { readonly value: string; readonly rest: readonly ShellWord[] }[] {
  const names = listOf(options);
  if (names.size === 0) return [];
  return words.slice(from).flatMap(({ value }, index) => {
    const at = from + index + 1;
    const next = { value: words[at]?.value ?? "", rest: words.slice(at + 1) };
    const own = (text: string) => ({ value: text, rest: words.slice(at) });
    const [, long, attached] = /^--([\w-]+)(?:=(.*))?$/s.exec(value) ?? [];
    if (long !== undefined) return names.has(long) ? [attached === undefined ? next : own(attached)] : [];
    if (!/^-[A-Za-z]/.test(value)) return [];
    const letter = value
      .slice(1)
      .split("")
      .findIndex((name) => names.has(name));
    if (letter === -1) return [];
    const text = value.slice(letter + 2);
    return [text === "" ? next : own(text)];
  });
}

/** `find -exec … ;`: the words from each action on, up to where it ends. */
function actionsOf(words: readonly ShellWord[], from: number, actions: string): readonly (readonly ShellWord[])[] {
  const names = listOf(actions);
  return words.flatMap(({ value }, at) => {
    if (at < from || !value.startsWith("-") || !names.has(value.slice(1))) return [];
    const end = words.findIndex((word, index) => index > at && (word.value === ";" || word.value === "+"));
    return [words.slice(at + 1, end === -1 ? words.length : end)];
  });
}
