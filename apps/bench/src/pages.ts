import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { appendBullet } from "@countersign/kb/append-bullet.ts";
import { applyOkf } from "@countersign/kb/apply-okf.ts";
import { editNode } from "@countersign/kb/edit-node.ts";
import { grepNodes } from "@countersign/kb/grep-nodes.ts";
import { importFolder } from "@countersign/kb/import-folder.ts";
import { readPage } from "@countersign/kb/read-page.ts";
import { searchPages } from "@countersign/kb/search-pages.ts";
import { describeMachine } from "./machine.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { makeSearches, writeCorpus } from "./page-corpus.ts";
import { createMeter } from "./processor-time.ts";

/** A large knowledge base: how long it takes to load, to search and to edit, and what memory that needs. */
const { values } = parseArgs({ options: { pages: { type: "string" }, searches: { type: "string" } } });
const count = Number(values.pages ?? 60_000);
const searches = Number(values.searches ?? 400);

const postgres = await startOwnPostgres();
const folder = await writeCorpus(count);
try {
  console.log(await describeMachine(postgres.url));
  const url = await postgres.createDatabase("bench_pages");
  const sql = connect(url, { max: 8 });
  await migrate(sql);
  const [workspaceId, userId] = [randomUUID(), randomUUID()];
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'bench')`;
  const by = { workspaceId, userId };
  await load(sql, by);
  await search(sql, by);
  await grep(sql, by);
  await edit(sql, by);
  await sql.end();
} finally {
  await rm(folder, { recursive: true });
  await postgres.remove();
}

type By = { readonly workspaceId: string; readonly userId: string };

async function load(sql: Sql, by: By): Promise<void> {
  const startedAt = performance.now();
  let peak = 0;
  const result = await importFolder(sql, {
    ...by,
    folder,
    onProgress(done, all) {
      peak = Math.max(peak, process.memoryUsage().rss);
      if (done % 5_000 === 0)
        console.log(`${done} of ${all} files, ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    },
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(
    `loaded ${result.pageCount} pages, ${result.nodeCount} nodes in ${seconds.toFixed(0)} s; at most ${Math.round(peak / 2 ** 20)} MB of memory`,
  );
  await sql`analyze`;
}

async function search(sql: Sql, by: By): Promise<void> {
  const meter = createMeter();
  for (const q of makeSearches(searches)) {
    await transaction(sql, (tx) => meter.measure(tx, () => searchPages({ tx, ...by }, { q })), { isReadOnly: true });
  }
  console.log(`search: ${meter.describe()}`);
}

async function grep(sql: Sql, by: By): Promise<void> {
  const patterns = [
    { pattern: "page 777" },
    { pattern: "户" },
    { pattern: "a" },
    { pattern: "k[ao]ro+", regex: true },
    { pattern: "(((a*)*)*)*b", regex: true },
    { pattern: "(x+x+)+y", regex: true },
    { pattern: "(.*)(.*)(.*)(.*)(.*)z$", regex: true },
    { pattern: "a{1,200}b{1,200}c{1,200}", regex: true },
  ];
  for (const query of patterns) {
    const startedAt = performance.now();
    const result = await transaction(sql, (tx) => grepNodes({ tx, ...by }, query), { isReadOnly: true });
    const found = result.kind === "found" ? `${result.total} matches` : result.kind;
    console.log(`grep ${query.pattern}: ${(performance.now() - startedAt).toFixed(0)} ms, ${found}`);
  }
}

/** One bullet of 2,000 at a time: the whole page sent back, that bullet sent alone, one more at the end. */
async function edit(sql: Sql, by: By): Promise<void> {
  const okf = Array.from({ length: 2_000 }, (_, n) => `- bullet ${n} of a long page\n`).join("");
  const made = await transaction(sql, (tx) => applyOkf({ tx, ...by }, { page: "Long", okf }));
  if (made.kind !== "applied") throw new Error(made.kind);
  const pageId = made.page.id;
  await sql`analyze nodes`;
  const [whole, alone, appended] = [createMeter(), createMeter(), createMeter()];
  for (let round = 0; round < 50; round += 1) {
    const read = await transaction(sql, (tx) => readPage({ tx, ...by }, pageId, { withIds: true }));
    const markdown = read?.markdown ?? "";
    const changed = markdown.replace(`- bullet ${round * 37} of`, `- bullet ${round * 37} changed, of`);
    const result = await transaction(sql, (tx) =>
      whole.measure(tx, () => applyOkf({ tx, ...by }, { page: pageId, okf: changed, revision: read?.revision })),
    );
    if (result.kind !== "applied" || result.changed !== 1) throw new Error(JSON.stringify(result));
    const [, nodeId = ""] = new RegExp(`- bullet ${round * 31 + 1} [^\n]*<!--(.*)-->`).exec(markdown) ?? [];
    const edited = await transaction(sql, (tx) =>
      alone.measure(tx, () => editNode({ tx, ...by }, { nodeId, okf: `- bullet ${round * 31 + 1} edited\n` })),
    );
    if (edited.kind !== "applied" || edited.changed !== 1) throw new Error(JSON.stringify(edited));
    await transaction(sql, (tx) =>
      appended.measure(tx, () => appendBullet({ tx, ...by }, { page: pageId, text: `appended ${round}` })),
    );
  }
  console.log(`page of 2,000 bullets sent back, one changed: ${whole.describe()}`);
  console.log(`one bullet of 2,000 sent: ${alone.describe()}`);
  console.log(`one bullet appended to 2,000: ${appended.describe()}`);
}
