import { expect, test } from "vitest";
import { createLive } from "./live.ts";

function record(isTerminal: boolean) {
  const written: string[] = [];
  return { written, live: createLive({ isTerminal, write: (text) => void written.push(text) }) };
}

test("the same lines again write nothing", () => {
  const { written, live } = record(true);
  live.draw(["a", "b"]);
  live.draw(["a", "b"]);
  expect(written).toHaveLength(1);
});

test("each drawing is one write, from the first line of the last one", () => {
  const { written, live } = record(true);
  live.draw(["a", "b", "c"]);
  live.draw(["a", "x"]);
  expect(written[1]).toContain("\u001b[2A");
  expect(written[1]?.startsWith("\u001b[?2026h")).toBe(true);
  expect(written[1]?.endsWith("\u001b[?2026l")).toBe(true);
});

test("the cursor is there again at the end", () => {
  const { written, live } = record(true);
  live.draw(["a"]);
  live.end();
  expect(written.at(-1)).toContain("\u001b[?25h");
});

test("without a terminal only what stays is written, without escapes", () => {
  const { written, live } = record(false);
  live.draw(["a"]);
  live.print(["kept"]);
  live.end();
  expect(written).toEqual(["kept\n"]);
});

test("UI16: nothing acts of the lines themselves, whether drawn or to stay", () => {
  const { written, live } = record(true);
  live.draw(["a\u001b[2Jb"]);
  live.print(["c\u001b[2Jd"]);
  expect(written.join()).toContain("a⟨U+001B⟩[2Jb");
  expect(written.join()).toContain("c⟨U+001B⟩[2Jd");
  expect(written.join()).not.toContain("\u001b[2J");
});
