import { listExportPaths } from "./export-pages.ts";
import { foldName } from "./fold.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { compareWithPast } from "./match-past.ts";
import type { Page } from "./lookup.ts";
import type { ParsedPage } from "./parse-okf.ts";
import { reachablePages, type Writer } from "./scope.ts";

/** Afterwards the page knows the file that it stands at now; `revision` where that file made the page. */
export async function keepFile({ tx }: Writer, pageId: string, revision: number | null = null): Promise<void> {
  await tx`
    insert into page_files (workspace_id, page_id, path, imported_revision)
    select workspace_id, id, concat_ws('/', nullif(dir, ''), coalesce(file_name, slug || '.md')), ${revision}
      from pages where id = ${pageId}
        on conflict do nothing`;
}

/** Whether some page came from this file, or stood there. */
export async function isKnownFile({ tx, workspaceId }: Writer, path: string): Promise<boolean> {
  const [known] = await tx`
    select from page_files where workspace_id = ${workspaceId} and md5(path) = md5(${path}) limit 1`;
  return known !== undefined;
}

export type PageOfFile =
  | { readonly kind: "new" }
  | { readonly kind: "found"; readonly pageId: string }
  /** `isAsItWas`: the file says what the page once said. */
  | { readonly kind: "removed"; readonly page: Page; readonly isAsItWas: boolean };

interface Candidate extends Page {
  readonly isRemoved: boolean;
  readonly importedRevision: number | null;
  /** It stands at this very path now, or would, were no other page there. */
  readonly isHere: boolean;
  /** It is known by this path, and not by the one to which an export put a number. */
  readonly isNamed: boolean;
}

const mostCandidates = 20;

/**
 * The page that a file belongs to: one that says or said the same, else one that stands there and is much like it, else
 * the one that was imported from there, else one that stood there and is much like it.
 */
export async function findPageOfFile(writer: Writer, path: string, parsed: ParsedPage): Promise<PageOfFile> {
  const candidates = await findCandidates(writer, path);
  const [only, other] = candidates;
  if (only !== undefined && other === undefined && wasImported(only) && !only.isRemoved) {
    return { kind: "found", pageId: only.id };
  }
  const looked: { readonly page: Candidate; readonly isExact: boolean; readonly rank: number }[] = [];
  for (const page of candidates) {
    const past = await compareWithPast(writer, page.id, parsed, 1);
    const isExact = past?.isExact === true;
    const isAlike = past?.isAlike === true || hasTitle(parsed, page.title);
    const rank = isExact ? 4 : isAlike && page.isHere ? 3 : wasImported(page) ? 2 : isAlike ? 1 : 0;
    if (rank > 0) looked.push({ page, isExact, rank });
  }
  // What comes first of two of one rank is the likelier one already, removed pages last.
  for (const { page, isExact } of looked.toSorted((a, b) => b.rank - a.rank)) {
    if (!page.isNamed && (page.isRemoved || (await readOwner(writer, path)) !== page.id)) continue;
    return page.isRemoved ? { kind: "removed", page, isAsItWas: isExact } : { kind: "found", pageId: page.id };
  }
  return { kind: "new" };
}

function wasImported({ isNamed, importedRevision }: Candidate): boolean {
  return isNamed && importedRevision !== null;
}

/** An export gives the second page of one path a number. */
async function findCandidates(writer: Writer, path: string): Promise<Candidate[]> {
  const { tx, workspaceId } = writer;
  const unnumbered = /^(.+)-\d+(\.md)$/is.exec(path);
  const paths = unnumbered === null ? [path] : [path, `${unnumbered[1]}${unnumbered[2]}`];
  return await tx<Candidate[]>`
    select p.id, p.dir, p.title, p.slug, p.type, p.revision, p.removed_at is not null as "isRemoved",
           f.imported_revision as "importedRevision", f.path = ${path} as "isNamed",
           f.path = concat_ws('/', nullif(p.dir, ''), coalesce(p.file_name, p.slug || '.md')) as "isHere"
      from page_files f join ${reachablePages(writer, "read")} p on p.id = f.page_id
     where f.workspace_id = ${workspaceId} and md5(f.path) in (select md5(t.path) from unnest(${paths}::text[]) as t (path))
     order by p.removed_at is not null, f.path <> ${path}, f.imported_revision is null, p.id limit ${mostCandidates}`;
}

/** The page that an export writes to this path now. */
async function readOwner(writer: Writer, path: string): Promise<string | undefined> {
  const dir = path.split("/").slice(0, -1).join("/");
  return (await listExportPaths(writer, { dir })).find((file) => file.path === path)?.pageId;
}

function hasTitle({ frontmatter }: ParsedPage, title: string): boolean {
  const own = readFrontmatter(frontmatter).title;
  return own !== undefined && foldName(own) === foldName(title);
}
