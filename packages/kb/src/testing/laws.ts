import { diffPage } from "../diff-page.ts";
import { mergeTrees } from "../merge-trees.ts";
import { parseOkf } from "../parse-okf.ts";
import { isEmpty, planChanges } from "../plan-changes.ts";
import { applied, idsOf, pageOf, textOf } from "./pages.ts";

/** What holds of every page and every edit of it; each returns what breaks it, or undefined. */
export const laws = {
  "a page comes back byte for byte": (a: string): string | undefined => {
    const { lineEnd } = parseOkf(a);
    return differ(a, textOf(pageOf(a)).replaceAll("\n", lineEnd));
  },
  "a page read with its ids and written back changes nothing": (a: string) => {
    const page = pageOf(a);
    const { wanted, warnings } = diffPage(page.nodes, parseOkf(textOf(page, true)).nodes);
    return isEmpty(planChanges(page.nodes, wanted)) && warnings.length === 0 ? undefined : "something changed";
  },
  "every id is found again where all comments are stripped": (a: string) => {
    const page = pageOf(a);
    const { wanted } = diffPage(page.nodes, parseOkf(textOf(page)).nodes);
    return isEmpty(planChanges(page.nodes, wanted)) ? undefined : "something changed";
  },
  "what was applied is what was asked, with and without ids": (a: string, b: string) => {
    const page = pageOf(a);
    const parsed = parseOkf(b);
    const { wanted } = diffPage(page.nodes, parsed.nodes);
    const nodes = applied(page.nodes, planChanges(page.nodes, wanted));
    const after = { frontmatter: parsed.frontmatter, nodes };
    const wrong = differ(b, textOf(after).replaceAll("\n", parsed.lineEnd));
    if (wrong !== undefined) return wrong;
    const again = diffPage(nodes, parseOkf(textOf(after, true)).nodes);
    return isEmpty(planChanges(nodes, again.wanted)) ? undefined : "the same edit again changes something";
  },
  "a stale edit that nobody else's change meets is that edit": (a: string, b: string) => {
    const page = pageOf(a);
    const { frontmatter, nodes } = parseOkf(b);
    const theirs = diffPage(page.nodes, nodes).wanted;
    const merge = mergeTrees(page.nodes, page.nodes, theirs, frontmatter);
    if (merge.kind === "conflict") return `conflict: ${merge.reason}`;
    return differ(JSON.stringify(theirs), JSON.stringify(merge.nodes));
  },
  "an edit merged onto itself is itself, and nothing is doubled": (a: string, b: string) => {
    const page = pageOf(a);
    const { frontmatter, nodes } = parseOkf(b);
    const ours = diffPage(page.nodes, nodes).wanted;
    const theirs = diffPage(page.nodes, nodes).wanted;
    const merge = mergeTrees(page.nodes, ours, theirs, frontmatter);
    if (merge.kind === "conflict") return `conflict: ${merge.reason}`;
    return differ(idsOf(ours).join(" "), idsOf(merge.nodes).join(" "));
  },
  "a merge loses no text that either side wrote": (a: string, b: string, c: string) => {
    const page = pageOf(a);
    const ours = diffPage(page.nodes, parseOkf(b).nodes).wanted;
    const theirs = diffPage(page.nodes, parseOkf(c).nodes).wanted;
    const { frontmatter } = page;
    const merge = mergeTrees(page.nodes, ours, theirs, frontmatter);
    if (merge.kind === "conflict") return undefined;
    const before = new Map(page.nodes.map((node) => [node.id, node.text]));
    const texts = new Set(merge.nodes.map(({ text }) => text));
    for (const node of [...ours, ...theirs]) {
      if (before.get(node.id) !== node.text && !texts.has(node.text)) return `lost: ${node.text}`;
    }
    if (new Set(idsOf(merge.nodes)).size < merge.nodes.length) return "a node is there twice";
    const read = parseOkf(
      textOf({ frontmatter, nodes: applied(page.nodes, planChanges(page.nodes, merge.nodes)) }, true),
    );
    return differ(merge.nodes.map(({ text }) => text).join("\n"), read.nodes.map(({ text }) => text).join("\n"));
  },
};

function differ(expected: string, found: string): string | undefined {
  return expected === found ? undefined : `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`;
}
