import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseOutline } from "./outline.ts";
import { writeOutline } from "./write-outline.ts";

/** Every node as one line: its depth in dots, its kind, its text. */
function sketch(source: string): string[] {
  const { nodes } = parseOutline(source);
  const depths: number[] = [];
  return nodes.map((node, n) => {
    depths[n] = node.parent === null ? 0 : (depths[node.parent] ?? 0) + 1;
    return `${".".repeat(depths[n])}${node.kind} ${node.text}`;
  });
}

function rewrite(source: string): string {
  const { frontmatter, lineEnd, nodes } = parseOutline(source);
  const written = writeOutline(
    frontmatter,
    nodes.map(({ parent, ...node }, n) => ({
      ...node,
      id: String(n),
      parentId: parent === null ? null : String(parent),
    })),
  );
  return lineEnd === "\n" ? written : written.replaceAll("\n", lineEnd);
}

describe("bullets", () => {
  test("are nested by their indentation, in spaces or tabs", () => {
    expect(sketch("- a\n  - b\n\t- c\n- d\n    - e\n")).toEqual([
      "bullet a",
      ".bullet b",
      "..bullet c",
      "bullet d",
      ".bullet e",
    ]);
  });

  test("stand below the heading or property lines that they are indented under", () => {
    expect(sketch("## H\n\t- a\n\t\t- b\n- c\n")).toEqual(["heading ## H", ".bullet a", "..bullet b", "bullet c"]);
    expect(sketch("type:: [[X]]\n\n\t- a\n")).toEqual(["paragraph type:: [[X]]", ".bullet a"]);
  });

  test("keep their further lines, without the indentation that makes them theirs", () => {
    expect(sketch("- a\n  id:: 1\n    deeper\n\n  after a blank\n- b\nlazy\n")).toEqual([
      "bullet a\nid:: 1\n  deeper\n\nafter a blank",
      "bullet b\nlazy",
    ]);
  });

  test("hold fences, and what looks like a bullet in one is text", () => {
    expect(sketch("- ```\n  - no\n\n  - bullet\n  ```\n- b\n")).toEqual([
      "bullet ```\n- no\n\n- bullet\n```",
      "bullet b",
    ]);
  });

  test("end a fence that one above them left open", () => {
    expect(sketch("- ```\n  code\n- b\n")).toEqual(["bullet ```\ncode", "bullet b"]);
  });

  test("may be empty, also below a line of text", () => {
    expect(sketch("- a\n  -\n  - b\n-\n")).toEqual(["bullet a", ".bullet ", ".bullet b", "bullet "]);
  });

  test("are not made of breaks, nor of text that begins with a dash", () => {
    expect(sketch("- - -\n\n-5 degrees\n\n---\n")).toEqual([
      "paragraph - - -",
      "paragraph -5 degrees",
      "paragraph ---",
    ]);
  });

  test("KN06: end in three backticks without opening a fence", () => {
    expect(sketch("- see ```\n- b\n- c\n")).toEqual(["bullet see ```", "bullet b", "bullet c"]);
    expect(sketch("- a\n  see ```\n- ```x``` y\n- c\n")).toEqual(["bullet a\nsee ```", "bullet ```x``` y", "bullet c"]);
  });

  test("KN07: hold HTML that changes no nesting", () => {
    expect(sketch("- <time>\n  - x\n- y\n")).toEqual(["bullet <time>", ".bullet x", "bullet y"]);
    expect(sketch("- <details>\n\t- <div>\n\t\t- x\n- </details>\n")).toEqual([
      "bullet <details>",
      ".bullet <div>",
      "..bullet x",
      "bullet </details>",
    ]);
  });
});

test("headings, paragraphs, tables and fences are nodes, each verbatim", () => {
  const source =
    "# T\nIntro\nmore\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sql\nselect 1\n\n- no\n```\n1. one\n2. two\n";
  expect(sketch(source)).toEqual([
    "heading # T",
    "paragraph Intro\nmore",
    "table | a | b |\n|---|---|\n| 1 | 2 |",
    "fence ```sql\nselect 1\n\n- no\n```",
    "paragraph 1. one\n2. two",
  ]);
});

test("text set apart below a nested bullet belongs to the bullet that it is indented under", () => {
  expect(sketch("- a\n  - b\n\n  of a\n\nof nobody\n")).toEqual([
    "bullet a",
    ".bullet b",
    ".paragraph of a",
    "paragraph of nobody",
  ]);
});

test("frontmatter is kept as the exact text it is, also where it is no YAML", () => {
  const head = "---\ntitle: a: b\n# note\nx_unknown:   [1,2]\n---\n\n";
  expect(parseOutline(`${head}- a\n`).frontmatter).toBe(head);
  expect(parseOutline("---\nnever closed\n").frontmatter).toBe("");
});

test("KN09: a file with CRLF line ends is read like any other and keeps them", () => {
  const source = "---\r\ntype: T\r\n---\r\n- a\r\n  more\r\n\r\n## H\r\n";
  const outline = parseOutline(source);
  expect(outline.frontmatter).toBe("---\ntype: T\n---\n");
  expect(sketch(source)).toEqual(["bullet a\nmore", "heading ## H"]);
  expect(rewrite(source)).toBe(source);
  const mixed = "- a\r\n- b\n\r\n-\r\nc\r";
  expect(rewrite(mixed)).toBe(mixed);
});

test.each([
  ["a byte order mark", "\uFEFF---\ntype: T\n---\n- a"],
  ["a byte order mark alone", "\uFEFF- a\n"],
  ["blank lines above and below", "\n  \n- a\n \n\n"],
  ["only blank lines", "\n\n"],
  ["nothing", ""],
  ["no final newline", "- a\n  more"],
  ["no-break and zero-width blanks", "-\u00a0a\n- \u200b\n\u00a0\n"],
  ["control characters", "- a\u0001\u000b\u2028b\n\u000c\n"],
  ["odd blanks inside a bullet", "- a\n \n\t  b\n  \n      c  \n-   d\n-\te\n"],
  ["a fence that never closes", "text\n~~~\n- a\n  ``` \n"],
])("a file with %s comes back byte for byte", (_what, source) => {
  expect(rewrite(source)).toBe(source);
});

test("any text at all comes back byte for byte, and no line is missing from the nodes", () => {
  const piece = fc.constantFrom(
    ..."- |* |+ |-|\t|  | |\n|\r\n|\n\n|```|~~~|# |a|b c|---|\uFEFF|é|<!--x-->|:: |1. ".split("|"),
    "|",
    "| a |\n|---|\n",
  );
  const source = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(source, (text) => {
      expect(rewrite(text)).toBe(text);
      const { frontmatter, nodes } = parseOutline(text);
      const kept = `${frontmatter}\n${nodes.map(({ shape, text: own }) => shape.lead + own).join("\n")}`;
      for (const line of text.split(/\r?\n/)) expect(kept).toContain(line.trim());
    }),
    { numRuns: 2_000 },
  );
});

describe("a bullet added to a page that was imported", () => {
  test("stands like its siblings, and reads back as what it is", () => {
    const { frontmatter, nodes } = parseOutline("## H\n\t- a");
    const [heading, bullet] = nodes;
    if (heading === undefined || bullet === undefined) throw new Error("expected two nodes");
    const written = writeOutline(frontmatter, [
      { ...heading, id: "h", parentId: null },
      { ...bullet, id: "a", parentId: "h" },
      { id: "x", parentId: "a", kind: "bullet", text: "x", shape: null },
      { id: "b", parentId: "h", kind: "bullet", text: "b\nmore", shape: null },
      { id: "c", parentId: null, kind: "bullet", text: "c", shape: null },
    ]);
    expect(written).toBe("## H\n\t- a\n\t\t- x\n\t- b\n\t  more\n- c\n");
    expect(sketch(written)).toEqual(["heading ## H", ".bullet a", "..bullet x", ".bullet b\nmore", "bullet c"]);
  });
});

test("ids stand last on a bullet's first line, alone where the bullet opens with a block", () => {
  const written = (text: string) =>
    writeOutline("", [{ id: "n1", parentId: null, kind: "bullet", text, shape: null }], {
      withIds: true,
    });
  expect(written("a\nmore")).toBe("- a <!--n1-->\n  more\n");
  expect(written("")).toBe("- <!--n1-->\n");
  expect(written("```js\ncode\n```")).toBe("- <!--n1-->\n  ```js\n  code\n  ```\n");
});

// The square of so many would take the better part of an hour.
test("very many lines of a kind take no longer than so many lines", () => {
  const many = 200_000;
  for (const source of ["- x\n".repeat(many), `- a\n${"\n".repeat(many)}  b\n`, `- a\n${" ".repeat(many)}x\n`]) {
    expect(rewrite(source) === source).toBe(true);
  }
});
