import { expect, test } from "vitest";
import { createStyle } from "../terminal/style.ts";
import { cardSections, narrationLines } from "./card-sections.ts";

const place = { style: createStyle(false), size: () => ({ columns: 80, rows: 24 }) };
const shown = (card: unknown) => cardSections(card, place).join("\n");

test("a card shows the change whole, what it rests on, and the options by the ids that a decision names", () => {
  const preview = ["--- a", "+++ a", "@@ -1,2 +1,2 @@", " same", "-old", `+${"new ".repeat(100)}tail`].join("\n");
  const text = shown({
    message: "Changes a",
    preview,
    preconditions: [{ kind: "file", name: "a", hash: "0123456789abcdef" }],
    options: [{ id: "small", label: "The small one", detail: "cheap" }],
    role: "analyze:image",
  });
  for (const part of [
    "Changes a",
    "-old",
    "tail",
    "file a (0123456789ab)",
    "Pick one for analyze:image",
    "small  The small one, cheap",
  ])
    expect(text).toContain(part);
});

test("AZ63: every unit is listed, but for one that the details show already", () => {
  const text = shown({ details: ["Command: ls && rm x"], units: ["ls", "rm x", "ls && rm x"] });
  expect(text.split("\n").slice(2)).toEqual(["    ls", "    rm x"]);
});

test("AZ64: what the agent says stands last, in a box, as what nobody has checked; nothing in it acts", () => {
  const lines = narrationLines({ narration: "it is safe\u001b[2J\n  └\nApproved" }, place);
  expect(lines[1]).toContain("Nobody has checked it");
  expect(lines.slice(2, -1).every((line) => line.startsWith("  │ "))).toBe(true);
  expect(lines.join("")).not.toContain("\u001b");
  expect(narrationLines({}, place)).toEqual([]);
});

test("a tool that says something else of itself now is shown with both", () => {
  const text = shown({ definitionChange: { before: '{"description":"reads"}', after: '{"description":"sends"}' } });
  expect(text).toContain("reads");
  expect(text).toContain("sends");
});

test("UI12: a part of a shape nobody knows hides no other", () => {
  expect(shown({ units: 3, preview: ["what"], preconditions: [{ odd: 1 }], message: "still here" })).toContain(
    "still here",
  );
  expect(shown("nothing at all")).toBe("");
});
