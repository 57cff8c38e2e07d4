import { expect, test } from "vitest";
import { findDisguise } from "./inspect.ts";

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
