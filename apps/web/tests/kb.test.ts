import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, phone } from "./stage.ts";

const stage = await givenStage();
const { sql } = stage;

const nasty = hostile.replaceAll(/[\u202E\u200B\u001B]/g, "");

const written = `## What to do
- Water the [[Roses]], **early**
  - in the morning, see [the almanac](https://almanac.example/may)
- Or [[roses|the red ones]], or \`[[Roses]]\`

| bed | plants |
| --- | --- |
| north | 12 |

\`\`\`
[[Roses]]
\`\`\``;

test("a page is made, written, found, read as an outline with its links both ways, and its history says who", async () => {
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/kb`);
  await page.getByText("There is no page here yet.").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "New page…" }).click();
  await page.getByLabel("Title").fill("Garden");
  await page.getByLabel("Directory").fill("home/outside");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.waitForURL("**/kb/pages/*/edit");
  const editor = page.getByLabel(/The page as an outline/);
  await editor.fill(`${await editor.inputValue()}\n${written}\n- ${nasty}\n`);
  await expectAccessible(page);
  await keepPicture(page, "kb-edit");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("in the morning").waitFor();
  await expectClean(page);
  await expectAccessible(page);

  await page.goto(`${stage.url}/kb`);
  await page.getByRole("button", { name: "New page…" }).click();
  await page.getByLabel("Title").fill("Roses");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.waitForURL("**/kb/pages/*/edit");
  await page.getByRole("link", { name: "Read" }).click();
  await page.getByRole("heading", { name: "Linked from" }).waitFor();
  await page.getByRole("link", { name: "Garden" }).click();
  const outline = page.locator(".outline").first();
  await outline.getByRole("heading", { name: "What to do" }).waitFor();
  await outline.getByRole("link", { name: "the red ones" }).waitFor();
  expect(await outline.getByRole("link", { name: /roses|red ones/i }).count()).toBe(2);
  await expectAccessible(page);
  await keepPicture(page, "kb-page");
  await outline.getByRole("link", { name: "Roses" }).click();
  await page.getByRole("heading", { name: "Roses", level: 1 }).waitFor();

  await page.goto(`${stage.url}/kb`);
  await page.getByRole("link", { name: "home/" }).click();
  await page.getByRole("link", { name: "outside/" }).click();
  await page.getByRole("link", { name: "Garden" }).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-directory");
  await page.getByRole("searchbox").fill("morning");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByText("found by").first().waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-search");
  expect(page.url()).toContain("q=morning");
  await page.getByRole("link", { name: "Garden" }).first().click();
  await page.getByRole("link", { name: "History" }).click();
  await page
    .getByText(/by Olga Operator/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "What it changed" }).first().click();
  await page.getByRole("dialog").getByText("in the morning").waitFor();
  await expectClean(page);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await page.getByText("taken back").first().waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-history");
  const [row] = await sql`select count(*)::int as n from nodes where text = 'in the morning'`;
  expect(row).toEqual({ n: 0 });
  await page.context().close();
});

test("two who write the same page: what does not touch is kept, what does is shown side by side and nothing is lost", async () => {
  const page = await stage.signIn("operator");
  const made = await page.evaluate(async () => {
    const response = await fetch("/v1/pages", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "Shared", okf: "- first\n- second\n" }),
    });
    return (await response.json()) as { pageId: string };
  });
  const other = await stage.signIn("admin");
  for (const one of [page, other]) await one.goto(`${stage.url}/kb/pages/${made.pageId}/edit`);
  const [mine, theirs] = [page, other].map((one) => one.getByLabel(/The page as an outline/));
  await mine?.waitFor();
  await theirs?.fill((await theirs.inputValue()).replace("first", "first, by the admin"));
  await other.getByRole("button", { name: "Save", exact: true }).click();
  await other.locator(".outline").getByText("first, by the admin").waitFor();
  const typed = ((await mine?.inputValue()) ?? "").replace("first", "first, by the operator");
  await mine?.fill(typed);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Somebody changed this page while you wrote.").waitFor();
  expect(await page.getByLabel("Yours").inputValue()).toBe(typed);
  await page.locator(".kb-theirs").getByText("first, by the admin").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-stale");
  await page.getByRole("button", { name: "Save mine on top of theirs" }).click();
  await page.locator(".outline").getByText("first, by the operator").waitFor();
  const rows = await sql`select text from nodes where page_id = ${made.pageId} and text like 'first%'`;
  expect(rows).toEqual([{ text: "first, by the operator" }]);
  await page.context().close();
  await other.context().close();
});

test("a page is renamed, moved, removed after asking, and brought back; a viewer may only read", async () => {
  const page = await stage.signIn("operator", phone);
  await page.goto(`${stage.url}/kb`);
  await page.getByRole("link", { name: "Shared" }).click();
  await page.getByRole("button", { name: "Rename or move…" }).click();
  await page.getByLabel("Title").fill("Common");
  await page.getByRole("button", { name: "Do it" }).click();
  await page.getByRole("heading", { name: "Common" }).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-phone");
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByText("Undoing it in the history brings it back.").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Remove the page" }).click();
  await page.waitForURL("**/history");
  const viewer = await stage.signIn("viewer");
  await viewer.goto(`${stage.url}/kb`);
  expect(await viewer.getByRole("button", { name: "New page…" }).count()).toBe(0);
  await viewer.context().close();
  await page.context().close();
});

test("Markdown files are imported, each with what came of it, and all pages are exported", async () => {
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/kb`);
  await page.getByRole("button", { name: "Import…" }).click();
  await page.getByLabel("Files (.md)").setInputFiles([
    { name: "brought.md", mimeType: "text/markdown", buffer: Buffer.from("# Brought\n\n- along\n") },
    { name: "odd.md", mimeType: "text/markdown", buffer: Buffer.from("") },
  ]);
  await page.getByLabel("Directory").fill("from-elsewhere");
  await expectAccessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("brought.md: imported").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("link", { name: "from-elsewhere/" }).waitFor();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const files = JSON.parse(readFileSync(await (await downloading).path(), "utf8")) as { path: string; text: string }[];
  expect(files.find((file) => file.path === "from-elsewhere/brought.md")?.text).toBe("# Brought\n\n- along\n");
  await page.context().close();
});

test("files are imported to the letter or not at all, however many they are, and an export that fails says so", async () => {
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/kb`);
  await page.getByRole("button", { name: "Import…" }).click();
  const dialog = page.getByRole("dialog");
  const fileOf = (name: string, buffer: Buffer) => ({ name, mimeType: "text/markdown", buffer });
  const notes = Array.from({ length: 12 }, (_, n) =>
    fileOf(`note-${n}.md`, Buffer.from(`# Brought note ${n}\n\n${`- a line of note ${n}\n`.repeat(6_000)}`)),
  );
  const latin = fileOf("latin.md", Buffer.from([...Buffer.from("# Latin\n\n- Gr"), 0xfc, 0xdf, 0x65, 0x0a]));
  await dialog.locator("input[type=file]").setInputFiles([...notes, latin]);
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await dialog.getByText("note-11.md: imported").waitFor({ timeout: 60_000 });
  expect(await dialog.getByText(/note-\d+\.md: imported/).count()).toBe(12);
  await dialog.getByText("latin.md: refused").waitFor();
  await dialog.getByText(/It is not in UTF-8/).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "kb-imported-in-parts");
  expect(await stage.sql`select from pages where title = 'Latin'`).toHaveLength(0);
  await dialog.getByRole("button", { name: "Close" }).click();

  await page.route("**/v1/export**", (route) => route.abort());
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  expect(await page.getByRole("button", { name: "Export" }).isEnabled()).toBe(true);
  await page.context().close();
});
