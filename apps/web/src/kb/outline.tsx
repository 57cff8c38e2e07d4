import { useEffect } from "react";
import { Link } from "wouter";
import { ExactText } from "../parts/exact-text.tsx";
import { visibleBeginning, visibleText } from "../parts/visible.ts";
import { words } from "../words.ts";
import type { Page } from "./queries.ts";

type Node = Page["nodes"][number];

/** A page as an outline: what belongs below what, each node with a link of its own. Its text is text, whatever it holds. */
export function Outline({ nodes, links }: { readonly nodes: readonly Node[]; readonly links: Page["links"] }) {
  useEffect(() => {
    const meant = location.hash.startsWith("#node-") ? document.getElementById(location.hash.slice(1)) : null;
    meant?.scrollIntoView({ block: "center" });
  }, []);
  const targets = new Map(links.map(({ id, title }) => [title.toLowerCase(), id]));
  return <Level nodes={Map.groupBy(nodes, (node) => node.parentId)} parentId={null} targets={targets} />;
}

interface LevelProps {
  readonly nodes: ReadonlyMap<string | null, readonly Node[]>;
  readonly parentId: string | null;
  /** Pages that are linked to, by their titles in small letters. */
  readonly targets: ReadonlyMap<string, string>;
}

function Level({ nodes, parentId, targets }: LevelProps) {
  const here = nodes.get(parentId);
  if (here === undefined) return null;
  return (
    <ul className="outline">
      {here.map((node) => (
        <li key={node.id} id={`node-${node.id}`} className={node.kind}>
          <div className="outline-line">
            <Linked text={node.text} targets={targets} />
            <a className="outline-link" href={`#node-${node.id}`} aria-label={words.kb.nodeLink}>
              #
            </a>
          </div>
          <Level nodes={nodes} parentId={node.id} targets={targets} />
        </li>
      ))}
    </ul>
  );
}

/** A node's text with its `[[links]]` as links, where there are pages of these names. */
function Linked({ text, targets }: { readonly text: string; readonly targets: ReadonlyMap<string, string> }) {
  const parts = text.split(/(\[\[(?!\[)(?:(?!\[\[)[^\]\n]){1,300}\]\])/);
  if (parts.length === 1) return <ExactText text={text} />;
  return (
    <p className="exact">
      {parts.map((part, n) => {
        const id = targets.get(part.slice(2, -2).split("|", 1)[0]?.trim().toLowerCase() ?? "");
        const shown = n < parts.length - 1 ? visibleBeginning(part) : visibleText(part);
        return part.startsWith("[[") && id !== undefined ? (
          <Link key={n} href={`/kb/pages/${id}`}>
            {shown}
          </Link>
        ) : (
          <span key={n}>{shown}</span>
        );
      })}
    </p>
  );
}
