import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

async function givenOperator() {
  const { tokens } = await givenPeople(sql);
  return (method: string, path: string, body?: unknown) =>
    send(server, tokens.operator, method, path, body === undefined ? {} : { body });
}

interface Exported {
  readonly files: { readonly path: string; readonly text: string }[];
  readonly nextCursor: string | null;
}

test("an export goes on behind a page that was removed meanwhile, and gives each page once", async () => {
  const as = await givenOperator();
  const ids = new Map<string, string>();
  for (const title of ["A", "B", "C", "D", "E"]) {
    const made = await as("POST", "/v1/pages", { title, okf: "- x\n" });
    ids.set(`${title.toLowerCase()}.md`, String(made.body["pageId"]));
  }
  const first = (await as("GET", "/v1/export?limit=2")).body as unknown as Exported;
  const last = first.files.at(-1)?.path ?? "";
  expect((await as("DELETE", `/v1/pages/${ids.get(last)}`)).status).toBe(200);
  const rest = (await as("GET", `/v1/export?limit=10&cursor=${first.nextCursor}`)).body as unknown as Exported;
  const paths = [...first.files, ...rest.files].map(({ path }) => path);
  expect(paths.toSorted()).toEqual(["a.md", "b.md", "c.md", "d.md", "e.md"]);
  expect(rest.nextCursor).toBeNull();
});

test("what was exported is imported again as it was, over the routes too; a name that is none of a page is left out", async () => {
  const as = await givenOperator();
  await as("POST", "/v1/pages", { title: "Made here", dir: "notes", okf: "- a\n" });
  await as("POST", "/v1/import", { files: [{ path: "x/package.json", text: "{}" }] });
  const before = (await as("GET", "/v1/export")).body as unknown as Exported;
  expect(before.files.map(({ path }) => path)).toEqual(["notes/made-here.md"]);
  expect((await as("POST", "/v1/import", { files: before.files })).body).toMatchObject({
    files: [{ outcome: "unchanged" }],
  });
  expect((await as("GET", "/v1/export")).body).toEqual(before);
});

test("batches of files that meet, in whatever order, and a rename beside them, are all done", async () => {
  const as = await givenOperator();
  const files = Array.from({ length: 12 }, (_, n) => ({
    path: `f${n}.md`,
    text: `---\ntitle: File ${n}\n---\n- to [[File ${(n + 1) % 12}]]\n`,
  }));
  await as("POST", "/v1/import", { files });
  const made = await as("POST", "/v1/pages", { title: "Renamed", okf: "- [[File 1]] [[File 2]]\n" });
  const changed = (round: number, list: typeof files) =>
    list.map(({ path, text }) => ({ path, text: `${text}- round ${round} of ${path}\n` }));
  for (let round = 0; round < 4; round += 1) {
    const answers = await Promise.all([
      as("POST", "/v1/import", { files: changed(round, files) }),
      as("POST", "/v1/import", { files: changed(round, files.toReversed()) }),
      as("PATCH", `/v1/pages/${String(made.body["pageId"])}`, { title: `Renamed ${round}` }),
      as("POST", "/v1/pages", { title: `Beside ${round}`, okf: "- [[File 3]] [[File 9]] [[Renamed]]\n" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  }
});
