import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { exportFolder } from "@countersign/kb/export-folder.ts";
import { importFolder } from "@countersign/kb/import-folder.ts";
import { readPage } from "@countersign/kb/read-page.ts";
import { actOn, type Person } from "@countersign/kb/testing/acts.ts";
import { laws } from "@countersign/kb/testing/laws.ts";
import { newWorkspace } from "@countersign/kb/testing/new-workspace.ts";
import { oddText, usualText } from "@countersign/kb/testing/pages.ts";
import fc from "fast-check";
import type { Report } from "./report.ts";

export interface OkfProof {
  readonly url: string;
  /** How many generated pages each law is tried on. */
  readonly draws: number;
  /** How often each of two agents and a person edits the one page. */
  readonly rounds: number;
  readonly seed: number;
  /** A folder of Markdown files; none unless given. */
  readonly pages: string | undefined;
  readonly onProgress: (text: string) => void;
}

/**
 * The laws of pages over generated and real ones; real pages through a database and back; and one page in the hands of
 * two agents and a person.
 */
export async function proveOkf(proof: OkfProof): Promise<Report> {
  const violations: string[] = [];
  const counts: Record<string, number> = { laws: Object.keys(laws).length, generated: 0 };
  for (const [name, breaks] of Object.entries(laws)) {
    const text = fc.oneof(oddText, usualText);
    const tried = fc.check(
      fc.property(text, text, text, (a, b, c) => breaks(a, b, c) === undefined),
      { numRuns: proof.draws, seed: proof.seed, endOnFailure: true },
    );
    counts["generated"] = (counts["generated"] ?? 0) + tried.numRuns;
    if (tried.failed) violations.push(`${name}: ${JSON.stringify(tried.counterexample)}`);
    proof.onProgress(`${name}: ${tried.numRuns} pages`);
  }
  const sql = connect(proof.url, { applicationName: "countersign proof" });
  try {
    if (proof.pages !== undefined) Object.assign(counts, await proveRealPages(sql, proof.pages, violations));
    Object.assign(counts, await proveEditors(sql, proof.rounds, violations));
  } finally {
    await sql.end();
  }
  return { counts, violations };
}

async function proveRealPages(sql: Sql, folder: string, violations: string[]): Promise<Record<string, number>> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => /\.md$/i.test(path));
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), "utf8")));
  for (const [n, a] of texts.entries()) {
    const [b, c] = [a.replace(/\n- /, "\n- NEW\n- "), `${a}\n- theirs\n`];
    for (const [name, breaks] of Object.entries(laws)) {
      const wrong = breaks(a, b, c) ?? breaks(a, texts[(n + 1) % texts.length] ?? "", c);
      if (wrong !== undefined) violations.push(`${paths[n]}: ${name}: ${wrong.slice(0, 200)}`);
    }
  }
  const me = await newWorkspace(sql);
  const imported = await importFolder(sql, { ...me, folder });
  const ids = async () =>
    JSON.stringify(await sql`select id, page_id from nodes where workspace_id = ${me.workspaceId} order by id`);
  const before = await ids();
  const out = await mkdtemp(join(tmpdir(), "countersign-okf-"));
  try {
    await exportFolder(sql, { ...me, folder: out });
    for (const [n, path] of paths.entries()) {
      const back = await readFile(join(out, path), "utf8").catch(() => undefined);
      if (back !== texts[n]) violations.push(`${path} did not come back byte for byte`);
    }
    const again = await importFolder(sql, { ...me, folder });
    if (again.unchanged !== imported.pageCount) violations.push(`importing again changed ${again.updated} pages`);
    await sendBack(sql, me, violations);
    if ((await ids()) !== before) violations.push("an id was lost on the way");
    await writeFile(join(out, "broken.md"), Buffer.from([0x2d, 0x20, 0xe9, 0x0a]));
    const odd = await importFolder(sql, { ...me, folder: out });
    if (!odd.skipped.some(({ path }) => path === "broken.md"))
      violations.push("a file that is no text was not reported");
  } finally {
    await rm(out, { recursive: true });
  }
  const { pageCount, nodeCount, skipped, warnings } = imported;
  return {
    files: paths.length,
    pages: pageCount,
    nodes: nodeCount,
    skipped: skipped.length,
    reported: warnings.length,
  };
}

/** Every page as it is, with its ids and with all of them stripped, is an edit that changes nothing. */
async function sendBack(sql: Sql, me: Person, violations: string[]): Promise<void> {
  const act = actOn(sql);
  const pages = await sql<
    { id: string; title: string }[]
  >`select id, title from pages where workspace_id = ${me.workspaceId}`;
  for (const { id, title } of pages) {
    for (const withIds of [true, false]) {
      const result = await act.edit(me, { page: id, okf: await act.text(me, id, withIds) });
      if (result.kind !== "unchanged")
        violations.push(`${title}: sent back ${withIds ? "with" : "without"} ids it was ${result.kind}`);
    }
  }
}

async function proveEditors(sql: Sql, rounds: number, violations: string[]): Promise<Record<string, number>> {
  const act = actOn(sql);
  const person: Person = await newWorkspace(sql);
  const agent = (): Person => ({ ...person, call: { runId: randomUUID(), callId: randomUUID() } });
  const shared = 12;
  const page = await act.page(person, "Shared", Array.from({ length: shared }, (_, n) => `- shared ${n}\n`).join(""));
  const wrote = new Set<string>();
  const counts = { rounds: rounds * 3, merged: 0, stale: 0 };
  const work = async (by: Person, name: string, who: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const read = await transaction(sql, (tx) => readPage({ tx, ...by }, page.id, { withIds: true }));
      if (read === undefined) throw new Error("the page is gone");
      const mine = [...wrote].find((line) => line.startsWith(`- ${name} `));
      const target = (round * 5 + who * 3) % shared;
      const added = `- ${name} ${round}`;
      // Adds a bullet, changes a shared one, and takes an own one away again, in turn.
      const kind = round % 3;
      const removed = kind === 2 ? mine : undefined;
      const okf =
        kind === 0
          ? read.markdown.replace(new RegExp(`^(- shared ${target}\\b.*)$`, "m"), `$1\n${added}`)
          : kind === 1
            ? read.markdown.replace(
                new RegExp(`^- shared ${target}\\b[^<]*`, "m"),
                `- shared ${target} by ${name} ${round} `,
              )
            : read.markdown.replace(new RegExp(`^${removed ?? "- nothing"} <!--.*\n`, "m"), "");
      const result = await act.edit(by, { page: page.id, okf, revision: read.revision });
      if (result.kind === "stale") counts.stale += 1;
      else if (result.kind === "applied") {
        if (result.isMerged) counts.merged += 1;
        if (kind === 0) wrote.add(added);
        if (removed !== undefined) wrote.delete(removed);
      } else if (result.kind !== "unchanged") violations.push(`round ${round} of ${name}: ${JSON.stringify(result)}`);
    }
  };
  await Promise.all([work(agent(), "one", 0), work(agent(), "two", 1), work(person, "person", 2)]);
  const lines = (await act.outline(person, page.id)).split("\n").filter((line) => line !== "");
  for (const line of wrote) {
    const found = lines.filter((other) => other === line).length;
    if (found !== 1) violations.push(`"${line}" is there ${found} times`);
  }
  if (lines.length !== shared + wrote.size) violations.push(`${lines.length} bullets, expected ${shared + wrote.size}`);
  const ids = await act.ids(person, page.id);
  if (new Set(ids).size !== lines.length) violations.push("two bullets have one id");
  return counts;
}
