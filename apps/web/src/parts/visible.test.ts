import { expect, test } from "vitest";
import { countMarks, isBlank, visibleBeginning, visibleLines, visibleText } from "./visible.ts";

const shown = (text: string): string =>
  visibleLines(text)
    .map((line) => line.map((piece) => piece.text).join(""))
    .join("\n");

test("UI16: what hides, turns or acts is a mark; what a reader sees anyway stays", () => {
  expect(shown("a\u202Eb\u200Bc\u001B[31m")).toBe("a⟨U+202E⟩b⟨U+200B⟩c⟨U+001B⟩[31m");
  expect(shown(`rm x${" ".repeat(400)}&& y`)).toBe("rm x⟨400 spaces⟩&& y");
  expect(shown(`${" ".repeat(8)}indented`)).toBe(`${" ".repeat(8)}indented`);
  expect(shown(`${" ".repeat(400)}far`)).toBe("⟨400 spaces⟩far");
  expect(shown("end \nnext")).toBe("end⟨1 space⟩\nnext");
  expect(shown("naïve 日本語 🙂 a b")).toBe("naïve 日本語 🙂 a b");
  expect(shown("a\u00A0b\u3000c\u{E0041}")).toBe("a⟨U+00A0⟩b⟨U+3000⟩c⟨U+E0041⟩");
});

test("two different texts never look the same", () => {
  expect(shown("⟨U+202E⟩")).toBe("⟨U+27E8⟩U+202E⟩");
  expect(shown("a\rb")).not.toBe(shown("a\nb"));
});

test("a space at the end of a piece that goes on is seen by what follows it", () => {
  expect(visibleBeginning("see ")).toBe("see ");
  expect(visibleBeginning("see \non ")).toBe("see⟨1 space⟩\non ");
  expect(visibleText("see ")).toBe("see⟨1 space⟩");
});

test("letters that are blank are marks, and so is the sign of a line's end where it is a letter", () => {
  for (const letter of ["\u2800", "\u2D7F", "\uFFFC", "\u{13441}", "\u{1D159}", "⏎"]) {
    expect(shown(`a${letter}b`)).toMatch(/^a⟨U\+[\dA-F]+⟩b$/);
  }
  expect(countMarks("a\u202E\u200Bb\n\u00A0")).toBe(3);
});

test("a text that shows nothing is blank, and no other is", () => {
  for (const text of ["", " \n\t", "\u200B\u2060", "\u00A0\u3000", "\u2D7F \uFFFC\u2800", "\u{E0041}"])
    expect(isBlank(text)).toBe(true);
  for (const text of ["a", "\u200B.", "⏎", "🙂"]) expect(isBlank(text)).toBe(false);
});

/** Of each kind that is drawn as nothing, or acts; the same as on a terminal. */
const unseen = [
  0x7f, 0x9b, 0xa0, 0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x200d, 0x202e, 0x2028, 0x2066, 0x2800, 0x2d7f, 0x3164, 0xe000,
  0xfe0f, 0xfeff, 0xffa0, 0xfffc, 0x10a3f, 0x1107f, 0x1193e, 0x11a47, 0x11a99, 0x11f42, 0x13441, 0x13442, 0x16fe4,
  0x1d159, 0x1d173, 0x1da7f, 0x1da80, 0xe0041, 0x10fffe,
];

test.each(unseen)("UI16: U+%x is a mark, and shows nothing by itself", (code) => {
  const character = String.fromCodePoint(code);
  expect(visibleText(`a${character}b`)).toBe(`a⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩b`);
  expect(isBlank(character)).toBe(true);
});

test("a sign that stands for the end of a line is a mark where it is a character of the text", () => {
  expect(visibleText("a⏎b")).toBe("a⟨U+23CE⟩b");
});
