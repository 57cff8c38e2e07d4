import { styleText } from "node:util";

const names = ["bold", "dim", "italic", "red", "green", "yellow", "blue", "magenta", "cyan"] as const;

/** Paints text, or leaves it as it is where colours are unwanted. */
export type Style = Readonly<Record<(typeof names)[number], (text: string) => string>>;

/** Paints text for the terminal; text as it is where colors are not wanted. */
export function createStyle(isColored: boolean): Style {
  const paint = (name: (typeof names)[number]) => (text: string) =>
    isColored && text !== "" ? styleText(name, text, { validateStream: false }) : text;
  return Object.fromEntries(names.map((name) => [name, paint(name)])) as Style;
}
