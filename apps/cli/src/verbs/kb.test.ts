import { expect, test } from "vitest";
import { textFor } from "./kb.ts";

const page = "- safe \u001b[2J\u202e <!--0190a0a0-0000-7000-8000-000000000001-->\n";

test("a page does nothing to a terminal, wherever the input is from; a program gets it as it is", () => {
  const shown = textFor({ isTerminal: true }, page, false);
  expect(shown).not.toMatch(/[\u001b\u202e]/);
  expect(shown.endsWith("\n")).toBe(true);
  expect(textFor({ isTerminal: false }, page, true)).toBe(page);
  expect(textFor({ isTerminal: false }, page, false)).toBe("- safe \u001b[2J\u202e\n");
});
