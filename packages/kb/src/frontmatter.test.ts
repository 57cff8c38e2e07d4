import { expect, test } from "vitest";
import { readFrontmatter } from "./frontmatter.ts";

test.each(["1.10", "007", "1e3", "0x10", "+1", "0o17", "12345678901234567890", ".5", "-0", ".inf", "True", "yes"])(
  "a name is what is written, also where YAML takes it for something else: %s",
  (text) => {
    const frontmatter = `---\ntitle: ${text}\ntype: &t ${text}\ntags: [${text}, x]\naliases:\n  - *t\nalias: ${text}0\n---\n`;
    expect(readFrontmatter(frontmatter)).toEqual({
      title: text,
      type: text,
      labels: [text, "x"],
      aliases: [text, `${text}0`],
      problem: undefined,
    });
  },
);

test("what is empty, or no text, is no name", () => {
  for (const value of ["", "~", "null", "[a]", "{a: b}"]) {
    expect(readFrontmatter(`---\ntitle: ${value}\ntype: ${value}\n---\n`)).toMatchObject({
      title: undefined,
      type: undefined,
      problem: undefined,
    });
  }
});
