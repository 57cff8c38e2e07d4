import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

/** Text that no index can press together: each character is another one of a large set, the same in every run. */
function longText(length: number, first = 0x4e00, count = 20_000, joint = ""): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCodePoint(first + (state % count));
  }).join(joint);
}

const words = (count: number, length: number) =>
  Array.from({ length: count }, (_, n) =>
    `${String(n).padStart(6, "0")}${"abcdefghij".repeat(7)}`.slice(0, length),
  ).join(" ");

/** Characters of which each stands for several others. */
const ligatures = (length: number, joint = "") => longText(length, 0xfd50, 60, joint) + joint + "\ufdfa".repeat(20);

const titled = (head: string, body = "- a\n") => ({ title: crypto.randomUUID(), okf: `---\n${head}\n---\n\n${body}` });

const bodies: readonly (readonly [string, string, unknown])[] = [
  ["a bullet of very many long words", "/v1/pages", { title: "W", okf: `- ${words(16_000, 61)}\n` }],
  ["a bullet of one word without end", "/v1/pages", { title: "O", okf: `- ${"x".repeat(900_000)}\n` }],
  ["a bullet in a script without blanks", "/v1/pages", { title: "H", okf: `- ${longText(300_000)}\n` }],
  ["a title", "/v1/pages", { title: longText(200), okf: "- a\n" }],
  ["a title of ligatures", "/v1/pages", { title: ligatures(180), okf: "- a\n" }],
  ["a title that is too long", "/v1/pages", { title: longText(3_000), okf: "- a\n" }],
  ["a title of the frontmatter", "/v1/pages", titled(`title: ${longText(3_000)}`)],
  ["labels", "/v1/pages", titled(`tags: [${Array.from({ length: 50 }, (_, n) => n + longText(490)).join(", ")}]`)],
  ["a label of 3 KB", "/v1/pages", titled(`tags: [${longText(3_000)}]`)],
  ["a type", "/v1/pages", titled(`type: ${longText(490)}`)],
  ["aliases of ligatures", "/v1/pages", titled(`aliases: [${ligatures(180)}, ${longText(200)}]`)],
  ["a directory", "/v1/pages", { title: "D1", dir: longText(300), okf: "- a\n" }],
  ["a directory of 10 KB", "/v1/pages", { title: "D2", dir: longText(10_000), okf: "- a\n" }],
  ["directories in each other", "/v1/pages", { title: "D3", dir: longText(150, 0x4e00, 20_000, "/"), okf: "- a\n" }],
  ["directories of ligatures", "/v1/pages", { title: "D4", dir: ligatures(130, "/"), okf: "- a\n" }],
  ["a link to a long name", "/v1/pages", { title: "L1", okf: `- [[${longText(590)}]] [[${ligatures(400)}]]\n` }],
  [
    "a link to a long path",
    "/v1/pages",
    { title: "L2", okf: `- [x](/${longText(590)}.md) [y](${longText(5_000)}.md)\n` },
  ],
  [
    "an imported file's path",
    "/v1/import",
    { files: [{ path: `${longText(200, 0x4e00, 20_000, "/")}/${longText(190)}.md`, text: "- a\n" }] },
  ],
  ["an imported file of ligatures", "/v1/import", { files: [{ path: `${ligatures(280, "/")}.md`, text: "- a\n" }] }],
  ["an imported file's name", "/v1/import", { files: [{ path: `${longText(590)}.md`, text: "- a\n" }] }],
  ["a captured address", "/v1/captures", { url: `https://e.org/${longText(1_900)}`, title: "C", markdown: "x" }],
  ["a captured title", "/v1/captures", { url: "https://e.org/t", title: longText(200), markdown: "x" }],
];

test.each(bodies)("%s is stored or refused", async (_what, path, body) => {
  const { tokens } = await givenPeople(sql);
  const answer = await send(server, tokens.admin, "POST", path, { body });
  expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBeLessThan(500);
});

test.each([
  ["search of many words", `/v1/search?q=${encodeURIComponent(words(300, 20))}`],
  ["search of a long phrase", `/v1/search?q=${encodeURIComponent(`"${words(300, 20)}"`)}`],
  ["search of one long word", `/v1/search?q=${"x".repeat(6_000)}`],
  ["search of ligatures", `/v1/search?q=${encodeURIComponent(ligatures(400))}`],
  ["a page of a long name", `/v1/pages?title=${encodeURIComponent(longText(600))}`],
  ["pages in a long directory", `/v1/pages?dir=${encodeURIComponent(longText(600))}`],
])("%s is answered or refused", async (_what, path) => {
  const { tokens } = await givenPeople(sql);
  expect((await send(server, tokens.viewer, "GET", path)).status).toBeLessThan(500);
});
