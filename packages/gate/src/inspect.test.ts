import { expect, test } from "vitest";
import { findDisguise, findLookalikes } from "./inspect.ts";

const clear = [
  "",
  "git status --short",
  "a\tb\r\nc",
  "müller@example.de",
  "naïve café",
  "日本語/ファイル.txt",
  "файл.txt",
  "документы/Отчёт.pdf",
  "Αθήνα.pdf",
  "O’Brien – notes",
  "/tmp/x=1&y=2",
  "🎉 party",
  "пaкeт".replaceAll("a", "а").replaceAll("e", "е"),
];

const hidden = [
  "a\u200bb",
  "rm\u200d -rf",
  "\u202egnp.exe",
  "\u2066x\u2069",
  "a\u00a0b",
  "git\u00a0status",
  "soft\u00adhyphen",
  "x\ufeff",
  "\u3164",
  "a\u2028b",
  "tag\u{e0041}",
  "v\ufe0f",
  "private\ue000",
  "half\ud800",
  "a\u3000b",
];

const confusable = [
  "gіt status",
  "раypal.com",
  "аррӏе.com",
  "ехо.txt",
  "ΑΒΕ.com",
  "ｒｍ -rf",
  "𝐫𝐦 x",
  "a∕b",
  "a\u2024txt",
  "rm \u2212rf",
  "ﾊ evil。com",
  "\u0441url x",
];

test.each(clear)("%j can be read for what it is", (text) => {
  expect(findDisguise(text)).toBeUndefined();
});

test.each(hidden)("%j holds a hidden character", (text) => {
  expect(findDisguise(text)).toBe("hidden_character");
});

test.each(confusable)("%j holds a character that people take for another", (text) => {
  expect(findDisguise(text)).toBe("confusable");
});

test("what looks like something else is named, with the word it stands in, and only where the text is confusable", () => {
  const named = (text: string) => findLookalikes(text).map(({ character, word }) => `${character} in ${word}`);
  expect(named("curl https://p\u0430yp\u0430l.com ok")).toEqual(["\u0430 in https://p\u0430yp\u0430l.com"]);
  expect(named("a \u2215 b \uFF41")).toEqual(["\u2215 in \u2215", "\uFF41 in \uFF41"]);
  for (const text of clear) expect(named(text)).toEqual([]);
});
