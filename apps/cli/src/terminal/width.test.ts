import fc from "fast-check";
import { expect, test } from "vitest";
import { cutTo, displayWidth, padTo, wrapTo } from "./width.ts";

test("colours take no room, wide characters two columns, combining ones none", () => {
  expect(displayWidth("\u001b[31mred\u001b[39m")).toBe(3);
  expect(displayWidth("日本")).toBe(4);
  expect(displayWidth("e\u0301")).toBe(1);
  expect(displayWidth("✉ ⚑")).toBe(3);
});

test("what is cut fits and says that it was cut", () => {
  expect(cutTo("short", 10)).toBe("short");
  expect(cutTo("a longer line", 8)).toBe("a longe…");
  expect(cutTo("日本語です", 6)).toBe("日本…");
  expect(padTo("ab", 4)).toBe("ab  ");
});

test("UI16: wrapping leaves nothing out, and no line is wider than asked", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), fc.integer({ min: 4, max: 60 }), (text, width) => {
      const lines = wrapTo(text, width);
      expect(lines.join("")).toBe(text);
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    }),
  );
});

test("lines break after spaces where they can", () => {
  expect(wrapTo("one two three", 8)).toEqual(["one two ", "three"]);
  expect(wrapTo("x".repeat(10), 4)).toEqual(["xxxx", "xxxx", "xx"]);
});
