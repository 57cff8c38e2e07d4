import { useEffect, useMemo } from "react";
import { Blocks } from "../parts/markdown.tsx";
import type { PageOf } from "../parts/read-markdown.ts";
import { words } from "../words.ts";
import type { Page } from "./queries.ts";
import { readTable } from "./read-table.ts";

type Node = Page["nodes"][number];

/**
 * A page as an outline: what belongs below what, each node with a link of its own. Of its Markdown only what `readMarkdown`
 * knows is drawn, and its links lead to the pages that the server resolved them to.
 */
export function Outline({ nodes, links }: { readonly nodes: readonly Node[]; readonly links: Page["links"] }) {
  useEffect(() => {
    const meant = location.hash.startsWith("#node-") ? document.getElementById(location.hash.slice(1)) : null;
    meant?.scrollIntoView({ block: "center" });
  }, []);
  const pageOf = useMemo(() => pagesByName(links), [links]);
  return <Level nodes={Map.groupBy(nodes, (node) => node.parentId)} parentId={null} pageOf={pageOf} />;
}

interface LevelProps {
  readonly nodes: ReadonlyMap<string | null, readonly Node[]>;
  readonly parentId: string | null;
  readonly pageOf: PageOf;
}

function Level({ nodes, parentId, pageOf }: LevelProps) {
  const here = nodes.get(parentId);
  if (here === undefined) return null;
  return (
    <ul className="outline">
      {here.map((node) => (
        <li key={node.id} id={`node-${node.id}`} className={node.kind}>
          <div className="outline-line">
            <NodeText node={node} pageOf={pageOf} />
            <a className="outline-link" href={`#node-${node.id}`} aria-label={words.kb.nodeLink}>
              #
            </a>
          </div>
          <Level nodes={nodes} parentId={node.id} pageOf={pageOf} />
        </li>
      ))}
    </ul>
  );
}

function NodeText({ node: { kind, text }, pageOf }: { readonly node: Node; readonly pageOf: PageOf }) {
  if (kind === "table") return <Table text={text} pageOf={pageOf} />;
  const drawn = <Blocks text={text} pageOf={pageOf} />;
  // What a page calls a heading may stand at any depth, so all are of one level below its title.
  return kind === "heading" ? (
    <div role="heading" aria-level={2}>
      {drawn}
    </div>
  ) : (
    drawn
  );
}

function Table({ text, pageOf }: { readonly text: string; readonly pageOf: PageOf }) {
  const { head, rows } = useMemo(() => readTable(text), [text]);
  return (
    <div className="outline-table">
      <table className="table">
        <thead>
          <tr>
            {head.map((cell, n) => (
              <th key={n} scope="col">
                <Blocks text={cell} pageOf={pageOf} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, n) => (
            <tr key={n}>
              {cells.map((cell, m) => (
                <td key={m}>
                  <Blocks text={cell} pageOf={pageOf} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names are compared as the server compares them: in one form of Unicode and in small letters; paths without escapes. */
function pagesByName(links: Page["links"]): PageOf {
  const ids = new Map(links.flatMap(({ id, names }) => names.map((name) => [name, id] as const)));
  return (asked) => ids.get(asked.normalize("NFKC").toLowerCase()) ?? ids.get(pathOf(asked));
}

function pathOf(address: string): string {
  const [path = ""] = address.split("#", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // A percent sign that begins no escape is itself.
  }
}
