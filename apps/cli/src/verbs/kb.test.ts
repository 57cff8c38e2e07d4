import { expect, test } from "vitest";
import { textFor } from "./kb.ts";

const page = "- safe \u001b[2J\u202e\n";

test("a page does nothing to a terminal, wherever the input is from; a program gets it as it is", () => {
  const shown = textFor({ isTerminal: true }, page);
  expect(shown).not.toMatch(/[\u001b\u202e]/);
  expect(shown.endsWith("\n")).toBe(true);
  expect(textFor({ isTerminal: false }, page)).toBe(page);
});
