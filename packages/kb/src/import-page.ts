import { applyParsed } from "./apply-okf.ts";
import { diffWithin, findNewMarks } from "./check-okf.ts";
import { insertPage } from "./create-page.ts";
import { diffPage } from "./diff-page.ts";
import { mayWriteIn } from "./directories.ts";
import { findPathProblem } from "./file-path.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { lockPage, type LoadedPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import type { Clash } from "./merge-trees.ts";
import { readPast, type PastPage } from "./page-history.ts";
import { parseOkf } from "./parse-okf.ts";
import { planChanges } from "./plan-changes.ts";
import { lockRenames } from "./rename-everywhere.ts";
import { visiblePages, type Writer } from "./scope.ts";
import { findTextProblem, findTitleProblem } from "./text.ts";

export interface SourceFile {
  /** The directory it lies in, relative to what is imported, joined by slashes; empty for the top. */
  readonly dir: string;
  readonly fileName: string;
  readonly source: string;
}

export type ImportPageResult =
  | {
      readonly kind: "imported" | "updated" | "unchanged";
      readonly page: Page;
      readonly nodeCount: number;
      /** What is odd about the file; it was imported all the same. */
      readonly warnings: readonly string[];
    }
  /** The page and the file were both changed in the same place since the last import; the page is as it was. */
  | { readonly kind: "conflict"; readonly page: Page; readonly reason: string; readonly clashes: readonly Clash[] }
  | { readonly kind: "skipped"; readonly reason: string };

/**
 * Makes one Markdown file a page with its nodes, byte for byte: `readPage` gives the file back. The title is the
 * frontmatter's, else the file's name. A file that was imported before from the same place is merged into its page:
 * what changed in the file since, onto what changed here. One that cannot be stored exactly is skipped.
 */
export async function importPage(writer: Writer, file: SourceFile): Promise<ImportPageResult> {
  const { tx, workspaceId } = writer;
  const problem = findFileProblem(file);
  if (problem !== undefined) return { kind: "skipped", reason: problem };
  const path = file.dir === "" ? file.fileName : `${file.dir}/${file.fileName}`;
  await tx`select pg_advisory_xact_lock(hashtextextended(${`file ${workspaceId} ${path}`}, 0))`;
  const [known] = await tx<{ id: string }[]>`
    select id from ${visiblePages(writer)} p where dir = ${file.dir} and file_name = ${file.fileName} order by id limit 1`;
  return known === undefined ? await importNew(writer, file) : await importAgain(writer, known.id, file);
}

function findFileProblem({ dir, fileName, source }: SourceFile): string | undefined {
  const path = dir === "" ? fileName : `${dir}/${fileName}`;
  const problem = findTextProblem(source) ?? findTextProblem(path);
  if (problem !== undefined) return `it cannot be stored: ${problem}`;
  if (path.length > 600) return `its path has ${path.length} characters; at most 600 are kept`;
  return findPathProblem(path);
}

async function importNew(writer: Writer, { dir, fileName, source }: SourceFile): Promise<ImportPageResult> {
  if (!(await mayWriteIn(writer, dir))) return { kind: "skipped", reason: "you may not write in its directory" };
  const { frontmatter, lineEnd, nodes } = parseOkf(source);
  const marks = findNewMarks(writer, "", frontmatter);
  if (marks !== undefined) return { kind: "skipped", reason: marks };
  const { wanted, warnings } = await diffWithin(writer, [], nodes);
  const title = titleOf(fileName);
  const { page } = await insertPage(writer, {
    kind: "page.imported",
    dir,
    title,
    frontmatter,
    lineEnd,
    fileName,
    nodes: wanted,
  });
  return {
    kind: "imported",
    page,
    nodeCount: wanted.length,
    warnings: [...warnings, ...oddsOf(fileName, frontmatter)],
  };
}

async function importAgain(
  writer: Writer,
  pageId: string,
  { fileName, source }: SourceFile,
): Promise<ImportPageResult> {
  const parsed = parseOkf(source);
  if (readFrontmatter(parsed.frontmatter).title !== undefined) await lockRenames(writer);
  const page = await lockPage(writer, pageId);
  if (page === undefined) return { kind: "skipped", reason: "you may not change the page it was imported as" };
  const result = await applyParsed(writer, page, parsed, "page.imported", await lastImport(writer, page));
  switch (result.kind) {
    case "applied":
    case "unchanged": {
      const { page: now, warnings } = result;
      const isFile = result.kind === "applied" ? !result.isMerged : result.isAsGiven;
      if (isFile || result.kind === "applied") {
        await writer.tx`
          update pages set imported_revision = ${now.revision}, imported_source = ${isFile ? null : source}
           where id = ${pageId}`;
      }
      const all = [...warnings, ...oddsOf(fileName, parsed.frontmatter)];
      const kind = result.kind === "applied" ? "updated" : "unchanged";
      return { kind, page: now, nodeCount: parsed.nodes.length, warnings: all };
    }
    case "stale":
      return { kind: "conflict", page, reason: result.reason, clashes: result.clashes ?? [] };
    case "refused":
      return { kind: "skipped", reason: result.reason };
    case "forbidden":
    case "ambiguous":
      throw new Error(`Importing into page ${pageId} was ${result.kind}, although it is locked`);
  }
}

/** The file as it was imported last, under the ids that its nodes have here. */
async function lastImport(writer: Writer, page: LoadedPage): Promise<PastPage> {
  const past = await readPast(writer, page, page.importedRevision ?? page.revision);
  if (past === undefined || page.importedSource === null) return past ?? page;
  const { frontmatter, nodes } = parseOkf(page.importedSource);
  const { wanted } = diffPage(past.nodes, nodes);
  return { frontmatter, nodes: planChanges([], wanted).inserted };
}

/** What a reader of other bundles would not take; it is kept as it is all the same. */
function oddsOf(fileName: string, text: string): string[] {
  if (!/^\uFEFF?---/.test(text)) return [];
  const { problem, type } = readFrontmatter(text);
  if (problem !== undefined) return [`Its frontmatter is kept as it is, but is no YAML: ${problem}`];
  const isReserved = fileName === "index.md" || fileName === "log.md";
  return type === undefined && !isReserved ? ["Its frontmatter has no type, so it is a page of type Page."] : [];
}

function titleOf(fileName: string): string {
  const stem = fileName.replace(/\.md$/i, "");
  const candidates = [decodeName(stem), stem, Array.from(stem).slice(0, 100).join("")];
  return candidates.find((title) => findTitleProblem(title) === undefined) ?? "Untitled";
}

/** Outliners write `a/b` as `a___b.md` or `a%2Fb.md`. */
function decodeName(stem: string): string {
  const name = stem.replaceAll("___", "/");
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // A percent sign that begins no escape is itself.
  }
}
