import fc from "fast-check";
import { expect, test } from "vitest";
import { createStyle } from "./style.ts";
import { inertJson, makeInert, makeVisible, visibleLines } from "./visible.ts";

test.each([
  ["a right-to-left override", "to\u202Eexe.txt", "to⟨U+202E⟩exe.txt"],
  ["a zero-width space", "pay\u200Bpal", "pay⟨U+200B⟩pal"],
  ["a terminal escape", "\u001b[2J\u001b]0;title\u0007", "⟨U+001B⟩[2J⟨U+001B⟩]0;title⟨U+0007⟩"],
  ["an eight-bit escape", "\u009b31m", "⟨U+009B⟩31m"],
  ["a carriage return", "safe\rrm -rf", "safe⟨U+000D⟩rm -rf"],
  ["a tag character", "x\u{e0041}", "x⟨U+E0041⟩"],
  ["a no-break space", "a\u00a0b", "a⟨U+00A0⟩b"],
  ["a filler that is drawn as nothing", "a\u3164b\u2800", "a⟨U+3164⟩b⟨U+2800⟩"],
  ["half of a surrogate pair", "a\ud800b", "a⟨U+D800⟩b"],
  ["blanks that push the rest out of sight", `true${" ".repeat(400)}; rm`, "true⟨400 spaces⟩; rm"],
  ["a blank at the end", "name ", "name⟨1 space⟩"],
  ["the mark itself", "⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"],
])("UI16: %s is written out", (_what, text, shown) => {
  expect(makeVisible(text)).toBe(shown);
});

test("UI16: ordinary text of any language stays as it is", () => {
  for (const text of ["Grüße, Ines!", "日本語のメール", "שלום", "📎 file"]) expect(makeVisible(text)).toBe(text);
});

test("UI16: whatever the text, nothing shown acts on a terminal, and no two texts look the same", () => {
  const anyText = fc.string({ unit: "binary", maxLength: 40 });
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      const shown = makeVisible(a);
      expect(shown).not.toMatch(/[\p{C}\p{Default_Ignorable_Code_Point}]/u);
      if (a !== b) expect(makeVisible(b)).not.toBe(shown);
    }),
  );
});

test("line ends stay line ends", () => {
  expect(visibleLines("a\r\nb\nc\rd")).toEqual(["a", "b", "c⟨U+000D⟩d"]);
});

test("UI16: whatever a whole text holds, nothing of it acts but our own paint, and what is visible stays as it is", () => {
  const { red, bold, dim } = createStyle(true);
  for (const painted of [red(`a${bold("b")}c\n\td`), dim(makeVisible("⟨\u202E  \u00a0"))])
    expect(makeInert(painted)).toBe(painted);
  expect(makeInert("a\u001b[2J\u001b[8m\u009b31m\u202e\rb\r\n")).toBe(
    "a⟨U+001B⟩[2J⟨U+001B⟩[8m⟨U+009B⟩31m⟨U+202E⟩⟨U+000D⟩b\r\n",
  );
});

test("UI16: JSON holds nothing that acts on a terminal, and reads back the same", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.constantFrom(undefined, 2), (text, indent) => {
      const json = inertJson({ text: [text] }, indent);
      expect(json.replaceAll("\n", "")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(json)).toEqual({ text: [text] });
    }),
  );
});
