import { diffPage } from "./diff-page.ts";
import { readState, type PastPage } from "./page-history.ts";
import { inPageOrder, type KeyedNode } from "./page-tree.ts";
import type { ParsedPage } from "./parse-okf.ts";
import type { Reader } from "./scope.ts";
import { nodeOf, type NodeRow } from "./load-page.ts";
import { writeOutline } from "./write-outline.ts";

/** The revision of a page that a text is nearest to. */
export interface PastMatch {
  readonly revision: number;
  /** The text says what the page said then, to the byte, and nothing else. */
  readonly isExact: boolean;
  /** Half of the nodes of the longer of the two are in both. */
  readonly isAlike: boolean;
  /** How many nodes of the longer of the two are not in the other, and one more where the frontmatter is another. */
  readonly distance: number;
}

/** Of a page with a long history only so many revisions are looked at. */
const mostRevisions = 100;

/**
 * The revision of a page, not before `first`, that a text differs least from, the newest of several; one that says exactly
 * that where there is one. Undefined where the page has no revision from there on. The reader may see the page, which may
 * have been removed.
 */
export async function compareWithPast(
  { tx }: Reader,
  pageId: string,
  parsed: ParsedPage,
  first: number,
): Promise<PastMatch | undefined> {
  const [page] = await tx<{ revision: number; frontmatter: string }[]>`
    select revision, frontmatter from pages where id = ${pageId}`;
  if (page === undefined || page.revision < first) return undefined;
  const rows = await tx<NodeRow[]>`
    select id, parent_id as "parentId", order_key as "orderKey", kind, text, lead, hang, trail
      from nodes where page_id = ${pageId}`;
  const later = await tx<{ revision: number; before: string | null; after: string | null }[]>`
    select revision, before, after from commands
     where page_id = ${pageId} and revision > ${first} order by revision desc limit ${mostRevisions}`;
  const nodes = new Map(rows.map((row) => [row.id, nodeOf(row)]));
  const wanted = countTexts(parsed.nodes);
  const text = writeOutline(parsed.frontmatter, diffPage([], parsed.nodes).wanted);
  let { revision, frontmatter } = page;
  let nearest: PastMatch | undefined;

  function look(): void {
    const { shared, longer, distance } = compareTexts(wanted, parsed, { frontmatter, nodes: [...nodes.values()] });
    if (nearest?.isExact === true || (nearest !== undefined && nearest.distance < distance)) return;
    const isExact = distance === 0 && writeOutline(frontmatter, inPageOrder([...nodes.values()])) === text;
    if (nearest !== undefined && nearest.distance === distance && !isExact) return;
    nearest = { revision, isExact, isAlike: shared > 0 && 2 * shared >= longer, distance };
  }

  look();
  for (const command of later) {
    if (nearest?.isExact === true || command.before === null) break;
    const before = readState(command.before);
    for (const { id } of readState(command.after).nodes ?? []) nodes.delete(id);
    for (const node of before.nodes ?? []) nodes.set(node.id, node);
    frontmatter = before.page?.frontmatter ?? frontmatter;
    revision = command.revision - 1;
    look();
  }
  return nearest;
}

/** How far a text is from what a page said, as `compareWithPast` measures it. */
export function measureDistance(parsed: ParsedPage, past: PastPage): number {
  return compareTexts(countTexts(parsed.nodes), parsed, past).distance;
}

function compareTexts(wanted: ReadonlyMap<string, number>, parsed: ParsedPage, { frontmatter, nodes }: PastPage) {
  const shared = countShared(wanted, nodes);
  const longer = Math.max(parsed.nodes.length, nodes.length);
  return { shared, longer, distance: longer - shared + (frontmatter === parsed.frontmatter ? 0 : 1) };
}

type Said = Pick<KeyedNode, "kind" | "text">;

function countTexts(nodes: Iterable<Said>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, text } of nodes) counts.set(`${kind} ${text}`, (counts.get(`${kind} ${text}`) ?? 0) + 1);
  return counts;
}

function countShared(wanted: ReadonlyMap<string, number>, nodes: Iterable<Said>): number {
  let shared = 0;
  for (const [said, count] of countTexts(nodes)) shared += Math.min(count, wanted.get(said) ?? 0);
  return shared;
}
