import { v7 as newId } from "uuid";
import { applyParsed } from "./apply-okf.ts";
import { diffWithin, findFalseHead, findNewMarks } from "./check-okf.ts";
import { insertPage } from "./create-page.ts";
import { mayWriteIn } from "./directories.ts";
import { type FileState, findBase, noteImport, stateOf } from "./file-bases.ts";
import { findPathProblem } from "./file-path.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { lockPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import type { Clash } from "./merge-trees.ts";
import { findPageOfFile, isKnownFile } from "./page-files.ts";
import { parseOkf, type ParsedPage } from "./parse-okf.ts";
import { lockRenames } from "./rename-everywhere.ts";
import type { Writer } from "./scope.ts";
import { findTextProblem, findTitleProblem } from "./text.ts";

export interface SourceFile {
  /** The directory it lies in, relative to what is imported, joined by slashes; empty for the top. */
  readonly dir: string;
  readonly fileName: string;
  readonly source: string;
  /** What it was when it was written out or imported last, where its folder has that noted. */
  readonly from?: FileState | undefined;
}

export type ImportPageResult =
  | {
      readonly kind: "imported" | "updated" | "unchanged";
      readonly page: Page;
      readonly nodeCount: number;
      /** What the file is now, to be given with its next import. */
      readonly from: FileState;
      /** What is odd about the file; it was imported all the same. */
      readonly warnings: readonly string[];
    }
  /** The page and the file were both changed in the same place since the last import; the page is as it was. */
  | { readonly kind: "conflict"; readonly page: Page; readonly reason: string; readonly clashes: readonly Clash[] }
  | { readonly kind: "skipped"; readonly reason: string };

/**
 * Makes one Markdown file a page with its nodes, byte for byte: `readPage` gives the file back. The title is the
 * frontmatter's, else the file's name. A file that a page was imported from, or was written to, is merged into that page
 * wherever it stands by now: what changed in the file since, onto what changed here. One whose page was removed here, and
 * one that cannot be stored exactly, is skipped.
 */
export async function importPage(writer: Writer, file: SourceFile): Promise<ImportPageResult> {
  const { tx, workspaceId } = writer;
  const problem = findFileProblem(file);
  if (problem !== undefined) return { kind: "skipped", reason: problem };
  const path = file.dir === "" ? file.fileName : `${file.dir}/${file.fileName}`;
  const parsed = parseOkf(file.source);
  // A rename locks in this order.
  const mayRename = readFrontmatter(parsed.frontmatter).title !== undefined && (await isKnownFile(writer, path));
  if (mayRename) await lockRenames(writer);
  await tx`select pg_advisory_xact_lock(hashtextextended(${`file ${workspaceId} ${path}`}, 0))`;
  const known = await findPageOfFile(writer, path, parsed);
  switch (known.kind) {
    case "new":
      return await importNew(writer, file, parsed);
    case "removed":
      return { kind: "skipped", reason: await explainRemoved(writer, known) };
    case "found":
      return await importAgain(writer, known.pageId, { path, file, parsed });
  }
}

async function explainRemoved(
  { tx }: Writer,
  { page, isAsItWas }: { readonly page: Page; readonly isAsItWas: boolean },
): Promise<string> {
  const [last] = await tx<{ id: string }[]>`
    select id from commands where page_id = ${page.id} order by revision desc limit 1`;
  const what = isAsItWas ? "and the file is as it was, so it stays so" : "and the file has changed since";
  return `its page "${page.title}" was removed here, ${what}; to have it, take that back (change ${last?.id}) and import again`;
}

function findFileProblem({ dir, fileName, source }: SourceFile): string | undefined {
  const path = dir === "" ? fileName : `${dir}/${fileName}`;
  const problem = findTextProblem(source) ?? findTextProblem(path);
  if (problem !== undefined) return `it cannot be stored: ${problem}`;
  if (path.length > 600) return `its path has ${path.length} characters; at most 600 are kept`;
  return findPathProblem(path) ?? findNameProblem(fileName);
}

function findNameProblem(fileName: string): string | undefined {
  return /.\.md$/i.test(fileName) ? undefined : "its name does not end in .md, as the name of a page's file does";
}

async function importNew(
  writer: Writer,
  { dir, fileName, source }: SourceFile,
  { frontmatter, lineEnd, nodes }: ParsedPage,
): Promise<ImportPageResult> {
  if (!(await mayWriteIn(writer, dir))) return { kind: "skipped", reason: "you may not write in its directory" };
  const id = newId();
  const { wanted, warnings } = await diffWithin(writer, id, [], nodes);
  const marks = findNewMarks(writer, "", frontmatter) ?? findFalseHead(writer, [], { frontmatter, nodes: wanted });
  if (marks !== undefined) return { kind: "skipped", reason: marks };
  const title = titleOf(fileName);
  const { page } = await insertPage(writer, {
    id,
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
    from: stateOf(source, page.revision),
    warnings: [...warnings, ...oddsOf(fileName, frontmatter)],
  };
}

async function importAgain(
  writer: Writer,
  pageId: string,
  { path, file, parsed }: { readonly path: string; readonly file: SourceFile; readonly parsed: ParsedPage },
): Promise<ImportPageResult> {
  if (readFrontmatter(parsed.frontmatter).title !== undefined) await lockRenames(writer);
  const page = await lockPage(writer, pageId);
  if (page === undefined) return { kind: "skipped", reason: "you may not change the page it was imported as" };
  const { base, revision, notes } = await findBase(writer, page, {
    path,
    parsed,
    source: file.source,
    from: file.from,
  });
  const result = await applyParsed(writer, page, parsed, "page.imported", base);
  switch (result.kind) {
    case "applied":
    case "unchanged": {
      const { page: now, warnings } = result;
      const isFile = result.kind === "applied" ? !result.isMerged : result.isAsGiven;
      const past = isFile || result.kind === "applied" ? undefined : revision;
      const agreed = past ?? now.revision;
      const source = isFile || past !== undefined ? null : file.source;
      await noteImport(writer, pageId, { path, revision: agreed, source });
      const all = [...warnings, ...notes, ...oddsOf(file.fileName, parsed.frontmatter)];
      const kind = result.kind === "applied" ? "updated" : "unchanged";
      return { kind, page: now, nodeCount: parsed.nodes.length, from: stateOf(file.source, agreed), warnings: all };
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
  return candidates.find((title) => findTitleProblem(title) === undefined)?.trim() ?? "Untitled";
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
