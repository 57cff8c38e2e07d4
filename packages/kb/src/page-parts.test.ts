import fc from "fast-check";
import { expect, test } from "vitest";
import { cutParts } from "./page-parts.ts";

const node = (id: string, text: string, kind = "bullet") => ({ id, kind, text });
const long = (topic: string, length: number) => `${topic} `.repeat(length).slice(0, length).trim();

test("a page without text is its title, and a short one is one part that names its first node that is no heading", () => {
  expect(cutParts("Title", [])).toMatchObject([{ nodeId: null, text: "Title" }]);
  expect(cutParts("Title", [node("a", " \n")])).toMatchObject([{ nodeId: null, text: "Title" }]);
  const nodes = [node("h", "# Head", "heading"), node("a", "one"), node("b", "two")];
  expect(cutParts("Title", nodes)).toMatchObject([{ nodeId: "a", text: "Title\n\n# Head\none\ntwo" }]);
  expect(cutParts("Title", nodes.slice(0, 1))).toMatchObject([{ nodeId: "h" }]);
});

test("headings open parts where what is above is long enough, so that an edit leaves the others as they were", () => {
  const section = (n: number, text: string) => [node(`h${n}`, `# ${n}`, "heading"), node(`b${n}`, text)];
  const before = [...section(1, long("bread", 500)), ...section(2, long("compost", 500)), ...section(3, "short")];
  const after = [...section(1, `${long("bread", 500)} more`), ...before.slice(2)];
  const [first, ...rest] = cutParts("T", before);
  const [changed, ...others] = cutParts("T", after);
  expect(first?.nodeId).toBe("b1");
  expect(rest.map(({ nodeId }) => nodeId)).toEqual(["b2", "b3"]);
  expect(changed?.hash).not.toBe(first?.hash);
  expect(others).toEqual(rest);
});

test("every character of a page is in one part, in order and whole, up to 200 parts of some 1,200 characters", () => {
  const texts = fc.array(
    fc.tuple(fc.constantFrom("heading", "bullet"), fc.string({ unit: "binary", maxLength: 3_000 })),
    {
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(texts, (given) => {
      const nodes = given.map(([kind, text], n) => node(String(n), text, kind));
      const parts = cutParts("T", nodes);
      const bare = (text: string) => text.toWellFormed().replaceAll(/\s|\ufffd/g, "");
      const bodies = parts.map(({ text }) => text.slice("T".length)).join("");
      expect(bare(bodies).replaceAll(/[^\x21-\x7e]/g, "")).toBe(
        bare(nodes.map(({ text }) => text).join("")).replaceAll(/[^\x21-\x7e]/g, ""),
      );
      for (const { text } of parts) {
        expect(text.length).toBeLessThanOrEqual(1_200 + 20 + "T\n\n".length);
        expect(text.isWellFormed()).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
  expect(cutParts("T", [node("a", "x".repeat(1_000_000))])).toHaveLength(200);
  expect(
    cutParts(
      "T",
      Array.from({ length: 3_000 }, (_, n) => node(String(n), "x".repeat(700))),
    ),
  ).toHaveLength(200);
});
