import { expect, test } from "vitest";
import { visibleBeginning, visibleLines, visibleText } from "./visible.ts";

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
