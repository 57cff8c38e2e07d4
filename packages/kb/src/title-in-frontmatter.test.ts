import { parseDocument } from "yaml";
import { expect, test } from "vitest";
import { readFrontmatter } from "./frontmatter.ts";
import { withTitle } from "./title-in-frontmatter.ts";

function written(text: string, title = "New: one"): string {
  const result = withTitle(text, title);
  if (result.kind !== "written") throw new Error(result.reason);
  expect(readFrontmatter(result.frontmatter)).toMatchObject({ title });
  if (readFrontmatter(text).problem === undefined) expect(readFrontmatter(result.frontmatter).problem).toBeUndefined();
  return result.frontmatter;
}

test.each([
  ["title: X", 'title: "New: one"'],
  ["title: 'It''s' # why\ntype: T", 'title: "New: one" # why\ntype: T'],
  ["title:\ntype: T", 'title: "New: one"\ntype: T'],
  ['"title":   "a\n  b"\ntype: T', '"title":   "New: one"\ntype: T'],
  ["title: >\n  a\n\n  b\ntype: T", 'title: "New: one"\ntype: T'],
  ["title: |-\n  a\n\n\n  b\n\ntype: T", 'title: "New: one"\n\ntype: T'],
  ["title: 'a\n\n  b'\ntype: T", 'title: "New: one"\ntype: T'],
  ["title: # c\n  x\ntype: T", 'title: # c\n  "New: one"\ntype: T'],
  ["? title\n: x\ntype: T", '? title\n: "New: one"\ntype: T'],
  ["{title: x, type: T}", '{title: "New: one", type: T}'],
  ["{type: T}", '{title: "New: one", type: T}'],
  ["{}", '{title: "New: one"}'],
  ["type:  T # odd\nx: {a:   1}", 'type:  T # odd\nx: {a:   1}\ntitle: "New: one"'],
  ["title: &t X\ntype: T", 'title: &t "New: one"\ntype: T'],
  ["title: first\ntype: T\ntitle: last", 'title: "New: one"\ntype: T\ntitle: "New: one"'],
  ["type: T\ntags: &t [a]\ny: *t\ntitle: *t", 'type: T\ntags: &t [a]\ny: *t\ntitle: "New: one"'],
  ["title: a: b\ntype: [", 'title: "New: one"\ntype: ['],
  ["title: X # why\r\ntype: T", 'title: "New: one" # why\r\ntype: T'],
  ["title: a: b\r\ntype: [", 'title: "New: one"\r\ntype: ['],
])("a rename changes the title in %j and no other byte", (before, after) => {
  expect(written(`---\n${before}\n---\n\n`)).toBe(`---\n${after}\n---\n\n`);
});

test("frontmatter that says the title already is as it was", () => {
  expect(written("---\ntitle: 'New: one' # so\n---\n")).toBe("---\ntitle: 'New: one' # so\n---\n");
});

test("a page without frontmatter, or with an empty one, is given a title too", () => {
  expect(written("")).toBe('---\ntitle: "New: one"\n---\n\n');
  expect(written("\uFEFF")).toBe('\uFEFF---\ntitle: "New: one"\n---\n\n');
  expect(written("---\n---\n")).toBe('---\ntitle: "New: one"\n---\n');
  expect(written("---\n# only this\n---\n")).toBe('---\n# only this\ntitle: "New: one"\n---\n');
});

test.each([
  ["what else says the title would say another", "title: &t X\naliases: [*t]"],
  ["it is no list of keys", "- a\n- b"],
  ["it ends before its end", "type: T\n...\nx: 1"],
  ["YAML refuses it, and the title has several lines", "title: >\n  a\n\n  b\ntype: ["],
  ["YAML refuses it, and the title stands twice", "title: a\ntitle: b\ntype: ["],
  ["its title is of another type", "title: !!int 5\ntype: T"],
])("a rename is refused with its reason where %s", (_why, source) => {
  expect(withTitle(`---\n${source}\n---\n`, "New: one")).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("frontmatter"),
  });
});

test("frontmatter too long for the parser has its one line of title changed, and nothing else", () => {
  const long = `type: T\ntitle: X\nnote: ${"x".repeat(21_000)}`;
  const after = written(`---\n${long}\n---\n`);
  expect(after).toBe(`---\n${long.replace("title: X", 'title: "New: one"')}\n---\n`);
  expect(withTitle(`---\n${long.replace("X", ">\n  a\n\n  b")}\n---\n`, "Y")).toMatchObject({ kind: "refused" });
});

test("a title of any characters is read back, by us and by YAML", () => {
  for (const title of [
    '"quoted"',
    "a # b",
    "it's \\ {x}",
    "no",
    "2026-01-01",
    "- a",
    "emoji 👩‍👩‍👧",
    "a\u2028x",
    "*a",
    "%",
  ]) {
    const after = withTitle("---\ntype: T\ntitle: x\n---\n", title);
    const text = after.kind === "written" ? after.frontmatter : "";
    expect(parseDocument(text.split("---\n")[1] ?? "").toJS(), title).toEqual({ type: "T", title });
  }
});
