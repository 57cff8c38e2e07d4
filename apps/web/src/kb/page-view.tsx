import { useState } from "react";
import { Link, useLocation } from "wouter";
import { ExactLine } from "../parts/exact-text.tsx";
import { Failure, Waiting } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import { Trail } from "./browse.tsx";
import { History } from "./history.tsx";
import { MovePage, RemovePage } from "./page-dialogs.tsx";
import { Outline } from "./outline.tsx";
import { PageEditor } from "./page-editor.tsx";
import { type Page, usePage } from "./queries.ts";

const names = words.kb;

/** One page: read as an outline, written, or its history. */
export function PageView({ id, view = "read" }: { readonly id: string; readonly view?: string }) {
  const { data: page, error, refetch } = usePage(id);
  const me = useMe();
  const [, goTo] = useLocation();
  const [open, setOpen] = useState<"move" | "remove">();
  if (page === undefined) {
    return (
      <>
        <h1 className="unseen">{names.onePage}</h1>
        {error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />}
      </>
    );
  }
  const mayWrite = me.data !== undefined && me.data.role !== "viewer" && page.removedAt === null;
  return (
    <>
      <Trail dir={page.dir} />
      <div className="page-head">
        <h1>
          <ExactLine text={page.title} />
        </h1>
        <Views id={id} view={view} mayWrite={mayWrite} />
        {mayWrite && view === "read" && (
          <>
            <button type="button" onClick={() => setOpen("move")}>
              {names.move}
            </button>
            <button type="button" className="danger" onClick={() => setOpen("remove")}>
              {names.remove}
            </button>
          </>
        )}
      </div>
      <PageFacts page={page} />
      {view === "edit" && mayWrite ? (
        <PageEditor page={page} onDone={() => goTo(`/kb/pages/${id}`)} />
      ) : view === "history" ? (
        <History pageId={id} mayUndo={me.data !== undefined && me.data.role !== "viewer"} />
      ) : (
        <>
          <Outline nodes={page.nodes} links={page.links} />
          <Linked title={names.links} pages={page.links} />
          <Linked title={names.backlinks} pages={page.backlinks} none={names.noBacklinks} />
        </>
      )}
      {open === "move" && <MovePage page={page} onClose={() => setOpen(undefined)} />}
      {open === "remove" && <RemovePage page={page} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function Views({ id, view, mayWrite }: { readonly id: string; readonly view: string; readonly mayWrite: boolean }) {
  const views = [
    { key: "read", name: names.pageTitleRead, path: `/kb/pages/${id}` },
    ...(mayWrite ? [{ key: "edit", name: names.edit, path: `/kb/pages/${id}/edit` }] : []),
    { key: "history", name: names.history, path: `/kb/pages/${id}/history` },
  ];
  return (
    <nav className="kb-views" aria-label={names.views}>
      {views.map(({ key, name, path }) => (
        <Link key={key} href={path} aria-current={key === view ? "page" : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  );
}

function PageFacts({ page }: { readonly page: Page }) {
  const { revision, updatedAt, labels, aliases, problem } = page;
  return (
    <>
      <dl className="facts kb-facts">
        <div>
          <dt>{names.revision(revision)}</dt>
          <dd>
            {names.changed} <Time at={updatedAt} />
          </dd>
        </div>
        {labels.length > 0 && (
          <div>
            <dt>{names.labels}</dt>
            <dd>
              <ExactLine text={labels.join(", ")} />
            </dd>
          </div>
        )}
        {aliases.length > 0 && (
          <div>
            <dt>{names.aliases}</dt>
            <dd>
              <ExactLine text={aliases.join(", ")} />
            </dd>
          </div>
        )}
      </dl>
      {problem !== null && (
        <p className="refused" role="note">
          {names.problem} <ExactLine text={problem} />
        </p>
      )}
    </>
  );
}

function Linked({
  title,
  pages,
  none,
}: {
  readonly title: string;
  readonly pages: Page["backlinks"];
  readonly none?: string;
}) {
  if (pages.length === 0 && none === undefined) return null;
  return (
    <section className="kb-linked">
      <h2>{title}</h2>
      {pages.length === 0 && <p className="fine">{none}</p>}
      <ul>
        {pages.map(({ id, title: name }) => (
          <li key={id}>
            <Link href={`/kb/pages/${id}`}>
              <ExactLine text={name} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
