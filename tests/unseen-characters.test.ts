import { visibleText } from "@countersign/engine/exact-text.ts";
import { findDisguise } from "@countersign/gate/inspect.ts";
import { expect, test } from "vitest";
import { makeVisible } from "@countersign/cli/terminal/visible.ts";

/** Of each kind that is drawn as nothing, or acts. */
const unseen = [
  0x7f, 0x9b, 0xa0, 0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x200d, 0x202e, 0x2028, 0x2066, 0x2800, 0x2d7f, 0x3164, 0xe000,
  0xfe0f, 0xfeff, 0xffa0, 0xfffc, 0x10a3f, 0x1107f, 0x1193e, 0x11a47, 0x11a99, 0x11f42, 0x13441, 0x13442, 0x16fe4,
  0x1d159, 0x1d173, 0x1da7f, 0x1da80, 0xe0041, 0x10fffe,
];

test.each(unseen)(
  "UI16: U+%x is no character that anybody sees: not to the gate, on a card or on a terminal",
  (code) => {
    const text = `a${String.fromCodePoint(code)}b`;
    const mark = `a⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩b`;
    expect(makeVisible(text)).toBe(mark);
    expect(visibleText(text)).toMatch(/^a(?:\\u[\da-f]{4}){1,2}b$/);
    if (code > 0x9f) expect(findDisguise(text)).toBe("hidden_character");
  },
);

test("a sign that stands for the end of a line is a mark where it is a character of the text", () => {
  expect(makeVisible("a⏎b")).toBe("a⟨U+23CE⟩b");
});
