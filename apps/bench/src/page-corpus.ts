import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Words by how often they are used: a few very often, most of them seldom. */
const syllables = [
  "ka",
  "ro",
  "mi",
  "ten",
  "dal",
  "ve",
  "so",
  "lu",
  "pra",
  "ni",
  "gor",
  "est",
  "al",
  "qui",
  "bo",
  "xe",
];
const vocabulary = Array.from({ length: 20_000 }, (_, n) => {
  const parts = [n % 16, (n >> 4) % 16, (n >> 8) % 16, (n >> 12) % 16].map((part) => syllables[part] ?? "");
  return parts.slice(0, n < 256 ? 2 : n < 4_096 ? 3 : 4).join("");
});
const cities = ["東京タワー", "用户身份", "École", "naïve", "🚀"];

/** Numbers that look random and are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A folder of `count` Markdown pages in directories of 200, linked among themselves; answers where it is. */
export async function writeCorpus(count: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-corpus-"));
  const random = createRandom(7);
  const word = (): string => vocabulary[Math.floor(random() ** 3 * vocabulary.length)] ?? "";
  const line = (): string => {
    const words = Array.from({ length: 5 + Math.floor(random() * 10) }, word);
    if (random() < 0.02) words.push(cities[Math.floor(random() * cities.length)] ?? "");
    if (random() < 0.1) words.push(`[[page ${Math.floor(random() * count)}]]`);
    return words.join(" ");
  };
  for (let n = 0; n < count; n += 1) {
    const dir = join(folder, `dir-${Math.floor(n / 200)}`);
    if (n % 200 === 0) await mkdir(dir);
    const bullets = Array.from({ length: 8 }, () => `${"  ".repeat(Math.floor(random() * 2))}- ${line()}\n`).join("");
    const text = `---\ntype: Page\ntitle: page ${n}\ntags: [${word()}]\n---\n\n# ${word()} ${word()}\n\n${bullets}`;
    await writeFile(join(dir, `page-${n}.md`), text);
  }
  return folder;
}

/** Searches of every sort, `count` of them: one word and several, seldom and often used, phrases, other scripts. */
export function makeSearches(count: number): string[] {
  const random = createRandom(11);
  const word = (): string => vocabulary[Math.floor(random() ** 3 * vocabulary.length)] ?? "";
  const sorts = [
    word,
    () => `${word()} ${word()}`,
    () => `${word()} ${word()} ${word()}`,
    () => `"${word()} ${word()}"`,
    () => `page ${Math.floor(random() * 60_000)}`,
    () => cities[Math.floor(random() * cities.length)] ?? "",
    () => "用户",
    () => `${word().slice(0, 4)}xx`,
  ];
  return Array.from({ length: count }, (_, n) => (sorts[n % sorts.length] ?? word)());
}
