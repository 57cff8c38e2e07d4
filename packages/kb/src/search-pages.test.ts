import { testDatabase } from "@countersign/db/testing/test-database.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { searchPages, type SearchQuery } from "./search-pages.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { readCertainWords, readQuery, wordVectorOf } from "./words.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

async function workspaceWith(...texts: string[]): Promise<Person> {
  const me = await newWorkspace(sql);
  await act.page(me, "Filler", texts.map((text) => `- ${text}\n`).join(""));
  return me;
}

async function hits(me: Person, query: SearchQuery) {
  const result = await act.do(me, (reader) => searchPages(reader, query));
  if (result.kind !== "found") throw new Error(`expected hits, got ${JSON.stringify(result)}`);
  return result.hits;
}

async function texts(me: Person, q: string): Promise<string[]> {
  return (await hits(me, { q })).filter(({ nodeId }) => nodeId !== null).map(({ excerpt }) => excerpt);
}

describe("a search", () => {
  test("KN16: finds two characters of an unspaced script, one emoji, and accented words in any case and form", async () => {
    const me = await workspaceWith(
      "验证用户身份",
      "東京タワーへ行く",
      "ship it 🚀 now",
      "l'École des femmes",
      "naïve façade",
      "plain",
    );
    const cases: [string, string][] = [
      ["用户", "验证用户身份"],
      ["タワー", "東京タワーへ行く"],
      ["東京", "東京タワーへ行く"],
      ["行", "東京タワーへ行く"],
      ["🚀", "ship it 🚀 now"],
      ["ÉCOLE", "l'École des femmes"],
      ["e\u0301cole", "l'École des femmes"],
      ["ecole", "l'École des femmes"],
      ["FAÇADE naive", "naïve façade"],
    ];
    for (const [q, found] of cases) expect((await texts(me, q))[0], q).toBe(found);
    expect(await texts(me, "户用")).toEqual([]);
  });

  test("KN16: finds a Korean word with what is written behind it, and a page by such a name", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "회의록", "- 서울에서 사용자가 만났다\n- 부산의 집은\n- 다른 말\n");
    for (const [q, found] of [
      ["서울", ["서울에서 사용자가 만났다"]],
      ["사용 서울", ["서울에서 사용자가 만났다"]],
      ["집", ["부산의 집은"]],
      ['"서울에서 사용자가"', ["서울에서 사용자가 만났다"]],
      ["울에", []],
      ["회의", [""]],
    ] as const) {
      const result = await act.do(me, (reader) => searchPages(reader, { q }));
      expect(result.kind === "found" && result.hits.map(({ excerpt }) => excerpt), q).toEqual(found);
    }
  });

  test("KN16: finds a flag, and one or two signs that are no word", async () => {
    const me = await workspaceWith("from 🇩🇪 to 🇫🇷", "a -> b", "about ~5", "100% sure", "a_b", "plain");
    const cases: [string, string][] = [
      ["🇩🇪", "from 🇩🇪 to 🇫🇷"],
      ["🇫🇷", "from 🇩🇪 to 🇫🇷"],
      ["->", "a -> b"],
      ["~", "about ~5"],
      ["%", "100% sure"],
      ["_", "a_b"],
    ];
    for (const [q, found] of cases) expect(await texts(me, q), q).toEqual([found]);
    expect(await texts(me, "🇪🇫")).toEqual([]);
  });

  test("of a quoted phrase finds its words in their order only", async () => {
    const me = await workspaceWith("the quick brown fox", "brown and quick", "quick, brown");
    expect((await texts(me, '"quick brown"')).toSorted()).toEqual(["quick, brown", "the quick brown fox"]);
    expect(await texts(me, '"quick brown" fox')).toContain("the quick brown fox");
  });

  test.each([
    '"unclosed & | ! ( :*',
    "'",
    '"',
    '""',
    '" "',
    "\\",
    "a:*b & !c",
    "((((",
    "%",
    "_",
    "***",
    "<->",
    "'quoted' \\'",
    "a\u0001b",
    "x".repeat(1_000),
    "wort ".repeat(200),
  ])("KN18: %j is a search like any other, never an error", async (q) => {
    const me = await workspaceWith("unclosed thoughts", "50%");
    expect(await hits(me, { q })).toBeInstanceOf(Array);
  });

  test("KN18: malformed words find what their words find", async () => {
    const me = await workspaceWith("unclosed thoughts", "other");
    expect(await texts(me, '"unclosed & | ! ( :*')).toEqual(["unclosed thoughts"]);
  });

  test("KN17: of text with wildcards and backslashes takes them literally", async () => {
    const me = await workspaceWith("100 50% off", "100 505 off", "a_b_c", "axbxc", "C:\\dir\\");
    expect((await texts(me, "50% off"))[0]).toBe("100 50% off");
    expect((await texts(me, "dir\\"))[0]).toBe("C:\\dir\\");
    expect((await texts(me, "a_b_c"))[0]).toBe("a_b_c");
  });

  test.each(["", "  ", "a\0b", "a\ud800"])("of %j is refused, saying why", async (q) => {
    const me = await workspaceWith("a");
    expect(await act.do(me, (reader) => searchPages(reader, { q }))).toMatchObject({ kind: "refused" });
  });

  test("finds pages by title, alias, label and a title with a slip in it, and says which list found them", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Release plan", "---\ntype: Page\naliases: [Roadmap]\ntags: [planning]\n---\n- a\n");
    for (const q of ["release plan", "ROADMAP", "planning", "Relese plan"]) {
      expect((await hits(me, { q }))[0], q).toMatchObject({ kind: "page", pageTitle: "Release plan" });
    }
    expect((await hits(me, { q: "release plan" }))[0]?.lists).toContain("name");
    expect((await hits(me, { q: "Relese plan" }))[0]?.lists).toEqual(["similar name"]);
  });

  test("of given kinds finds nothing else, and never more than ten", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Word", `# word\n\n${"- word\n".repeat(30)}`);
    expect(await hits(me, { q: "word" })).toHaveLength(10);
    expect((await hits(me, { q: "word", kinds: ["heading"] })).map(({ kind }) => kind)).toEqual(["heading"]);
    expect((await hits(me, { q: "word", kinds: ["page"] })).map(({ kind }) => kind)).toEqual(["page"]);
  });
});

test("a text that holds another has the words that are certain of it, whatever stands around it", async () => {
  const part = fc.string({
    unit: fc.constantFrom("a", "B", "é", "e\u0301", " ", "-", "用", "户", "ー", "🚀", "1", "'", "\\"),
    maxLength: 12,
  });
  const cases = fc.sample(fc.tuple(part, part, part), 2_000).map(([before, text, after]) => ({
    vector: wordVectorOf(`${before}${text}${after}`),
    certain: readCertainWords(text) ?? null,
    whole: `${before}|${text}|${after}`,
  }));
  const missing = await sql<{ whole: string }[]>`
    select whole, certain from json_to_recordset(${JSON.stringify(cases)}::text::json) as c (vector text, certain text, whole text)
     where certain is not null and not vector::tsvector @@ certain::tsquery`;
  expect(missing).toEqual([]);
  expect(cases.filter(({ certain }) => certain !== null).length).toBeGreaterThan(500);
  expect(readCertainWords("find the Words")).toBe("'the' & 'words':*");
  expect(readCertainWords("word")).toBeUndefined();
});

test("the very text is found within words, across words and where its last word goes on", async () => {
  const me = await workspaceWith("a seafood restaurant opens", "Ünder_score 用户身份x", "x".repeat(50));
  for (const q of ["food restau", "sea", "food restaurant op", "der_sco", "户身份", "_score 用户身"]) {
    expect((await hits(me, { q }))[0]?.lists, q).toContain("text");
  }
  expect(await texts(me, "ood estaurant")).toEqual([]);
});

test("a search sends at most five statements", async () => {
  const me = await workspaceWith("alpha beta", "beta gamma");
  for (const q of ["alpha", "alpha gamma", '"beta gamma"', "bet", "🚀", "no such words at all"]) {
    const sent: string[] = [];
    await act.do(me, (reader) => {
      const tx = new Proxy(reader.tx, {
        apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
          const made: unknown = Reflect.apply(target as (...all: unknown[]) => unknown, self, args);
          if (/^\s*(?:select 'page' as kind|with found)/.test(args[0][0] ?? "")) sent.push(args[0].join("?"));
          return made;
        },
      });
      return searchPages({ ...reader, tx }, { q });
    });
    expect(sent.length, q).toBeLessThanOrEqual(5);
    expect(sent.length, q).toBeGreaterThan(0);
  }
});

test("the words of a text have positions, and quotes and backslashes in them are no syntax", () => {
  expect(wordVectorOf("It's a Café")).toBe("'it':1 's':2 'a':3 'cafe':4");
  expect(wordVectorOf("用户 x")).toBe("'用':1 '用户':1 '户':2 'x':3");
  expect(readQuery('"用户身份" x')?.all).toBe("('用户' <1> '户身' <1> '身份') & 'x'");
  expect(readQuery("!? …")).toBeUndefined();
});
