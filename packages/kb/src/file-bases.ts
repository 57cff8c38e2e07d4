import { createHash } from "node:crypto";
import type { LoadedPage } from "./load-page.ts";
import { compareWithPast, measureDistance } from "./match-past.ts";
import { asWritten, readPast, type PastPage } from "./page-history.ts";
import { parseOkf, type ParsedPage } from "./parse-okf.ts";
import type { Writer } from "./scope.ts";
import { writeOutline } from "./write-outline.ts";

/** What a file was when it was written out or imported last, as its folder has noted it. */
export interface FileState {
  /** The page's at that time. */
  readonly revision: number;
  /** Of the file's text in UTF-8, in hexadecimal. */
  readonly sha256: string;
  /** It may have been imported since without its folder's noting that, as from a Git repository. */
  readonly orLater?: boolean;
}

/** What a file with this text is once it says what its page says at `revision`, or was merged into it then. */
export function stateOf(text: string, revision: number): FileState {
  return { revision, sha256: digestOf(text) };
}

export interface NotedImport {
  readonly path: string;
  /** What this file made, or agreed with. */
  readonly revision: number;
  /** What it held, where that is not what the page said at `revision`. */
  readonly source: string | null;
}

/** Of each page so many states of files that are no revision of it are kept. */
const mostSources = 20;

/** Afterwards a later import of the file is merged on what it is now. */
export async function noteImport(
  { tx, workspaceId }: Writer,
  pageId: string,
  { path, revision, source }: NotedImport,
): Promise<void> {
  const sha256 = source === null ? null : digestOf(source);
  await tx`
    insert into page_files (workspace_id, page_id, path, imported_revision, imported_sha256)
    values (${workspaceId}, ${pageId}, ${path}, ${revision}, ${sha256})
        on conflict (workspace_id, md5(path), page_id) do update
       set imported_revision = excluded.imported_revision, imported_sha256 = excluded.imported_sha256`;
  if (source === null) return;
  await tx`
    insert into file_sources (workspace_id, page_id, sha256, revision, source)
    values (${workspaceId}, ${pageId}, ${sha256}, ${revision}, ${source})
        on conflict (page_id, sha256) do update set revision = excluded.revision`;
  await tx`
    delete from file_sources
     where page_id = ${pageId}
       and sha256 in (select sha256 from file_sources where page_id = ${pageId}
                       order by revision desc, sha256 offset ${mostSources})`;
}

export interface FileBase {
  readonly base: PastPage;
  /** The newest one at which the page said what the file says, and nothing more. */
  readonly revision?: number;
  readonly notes: readonly string[];
}

export interface FileToCompare {
  readonly path: string;
  readonly source: string;
  readonly parsed: ParsedPage;
  readonly from: FileState | undefined;
}

/**
 * What a locked page is to be compared with where this file is imported: what the page was when the file said the same.
 * That is what the file's folder noted (`from`), else what its path was imported with last; or a later revision where the
 * file says just that. Where only a path tells, or nothing at all, a revision that is nearer to the file counts instead, and
 * `notes` say so where it is an old one: a file may have been written out since, and edited then.
 */
export async function findBase(
  writer: Writer,
  page: LoadedPage,
  { path, source, parsed, from }: FileToCompare,
): Promise<FileBase> {
  const imported = await readImported(writer, page, path);
  const given = from && (await readGiven(writer, page, from));
  const isLater = from?.orLater === true && imported !== undefined && imported.revision > from.revision;
  const noted = given === undefined || isLater ? imported : given;
  const past = await compareWithPast(writer, page.id, parsed, noted?.revision ?? 1);
  if (past?.isExact === true) {
    const { revision } = past;
    const base = (await readPast(writer, page, revision)) ?? page;
    const isNews = revision < page.revision && revision !== noted?.revision;
    return { base, revision, notes: isNews ? [sameAs(revision)] : [] };
  }
  // An import that was killed has noted nothing in the folder.
  const merged = await readKept(writer, page, digestOf(source));
  if (merged !== undefined && merged.revision >= (noted?.revision ?? 1)) return { base: merged.state, notes: [] };
  const isSure = given !== undefined && noted === given;
  if (noted !== undefined && (isSure || past === undefined || measureDistance(parsed, noted.state) <= past.distance)) {
    return { base: noted.state, notes: [] };
  }
  if (past === undefined) return { base: page, notes: [] };
  const { revision } = past;
  const base = (await readPast(writer, page, revision)) ?? page;
  return { base, notes: revision < page.revision ? [nearTo(revision)] : [] };
}

interface NotedState {
  readonly revision: number;
  readonly state: PastPage;
}

/** What this path was imported with last. */
async function readImported(writer: Writer, page: LoadedPage, path: string): Promise<NotedState | undefined> {
  const [file] = await writer.tx<{ revision: number; sha256: string | null }[]>`
    select imported_revision as revision, imported_sha256 as sha256
      from page_files
     where workspace_id = ${writer.workspaceId} and md5(path) = md5(${path}) and page_id = ${page.id}
       and imported_revision is not null`;
  if (file === undefined) return undefined;
  const kept = file.sha256 === null ? undefined : await readKept(writer, page, file.sha256);
  const state = kept?.state ?? (await readPast(writer, page, file.revision));
  return state && { revision: file.revision, state };
}

/** What its folder says that the file was; undefined where that is nothing that is known of this page. */
async function readGiven(
  writer: Writer,
  page: LoadedPage,
  { revision, sha256 }: FileState,
): Promise<NotedState | undefined> {
  const state = await readPast(writer, page, revision);
  const text = state === undefined ? "" : writeOutline(state.frontmatter, state.nodes);
  const isThat = [text, text.replaceAll("\n", "\r\n")].some((written) => digestOf(written) === sha256);
  return state !== undefined && isThat ? { revision, state } : await readKept(writer, page, sha256);
}

async function readKept(writer: Writer, page: LoadedPage, sha256: string): Promise<NotedState | undefined> {
  const [kept] = await writer.tx<{ revision: number; source: string }[]>`
    select revision, source from file_sources where page_id = ${page.id} and sha256 = ${sha256}`;
  const past = kept && (await readPast(writer, page, kept.revision));
  if (kept === undefined || past === undefined) return undefined;
  return { revision: kept.revision, state: asWritten(past, parseOkf(kept.source)) };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function sameAs(revision: number): string {
  return `It says what the page said at revision ${revision}, so nothing is taken from it: what was changed here since stays.`;
}

function nearTo(revision: number): string {
  return `It is nearest to what the page said at revision ${revision}: what differs from that was put onto the page.`;
}
