import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { ExactLine } from "../parts/exact-text.tsx";
import { Empty, Failure, Refusal, Waiting } from "../parts/states.tsx";
import { useTyped } from "../parts/use-typed.ts";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import { Hits } from "./hits.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { NewPage } from "./new-page.tsx";
import { useLevel } from "./queries.ts";
import { exportAll } from "./export-all.ts";

const names = words.kb;

/** The directories and pages, and a search over all of them; where one is stands in the address. */
export function Browse() {
  const [search, setSearch] = useSearchParams();
  const dir = search.get("dir") ?? "";
  const q = search.get("q") ?? "";
  const [open, setOpen] = useState<"new" | "import">();
  const me = useMe();
  const exporting = useMutation({ mutationFn: () => exportAll(dir) });
  const mayWrite = me.data !== undefined && me.data.role !== "viewer";

  return (
    <>
      <div className="page-head">
        <h1>{names.title}</h1>
        {mayWrite && (
          <>
            <button type="button" className="primary" onClick={() => setOpen("new")}>
              {names.new}
            </button>
            <button type="button" onClick={() => setOpen("import")}>
              {names.import}
            </button>
          </>
        )}
        <button type="button" disabled={exporting.isPending} onClick={() => exporting.mutate()}>
          {names.export}
        </button>
      </div>
      <Refusal error={exporting.error} />
      <SearchBox q={q} onSearch={(asked) => setSearch(asked === "" ? {} : { q: asked })} />
      {q === "" ? <Level dir={dir} /> : <Hits q={q} onClear={() => setSearch({})} />}
      {open === "new" && <NewPage dir={dir} onClose={() => setOpen(undefined)} />}
      {open === "import" && <ImportDialog dir={dir} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function SearchBox({ q, onSearch }: { readonly q: string; readonly onSearch: (asked: string) => void }) {
  const [typed, setTyped] = useTyped(q);
  return (
    <form
      role="search"
      className="kb-search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(typed.trim());
      }}
    >
      <input
        type="search"
        aria-label={names.search}
        placeholder={names.search}
        maxLength={1_000}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <button type="submit">{names.find}</button>
    </form>
  );
}

function Level({ dir }: { readonly dir: string }) {
  const { data, error, refetch } = useLevel(dir);
  if (data === undefined) {
    return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;
  }
  return (
    <>
      {dir !== "" && <Trail dir={dir} />}
      {data.dirs.length + data.pages.length === 0 && (
        <Empty title={names.empty}>
          <p>{names.emptyHint}</p>
        </Empty>
      )}
      <ul className="kb-list">
        {data.dirs.map((one) => (
          <li key={one.dir}>
            <Link href={`/kb?dir=${encodeURIComponent(one.dir)}`} className="kb-dir">
              <ExactLine text={`${one.dir.split("/").at(-1) ?? one.dir}/`} />
            </Link>{" "}
            <span className="fine">{names.pages(one.pageCount)}</span>
          </li>
        ))}
        {data.pages.map((page) => (
          <li key={page.id}>
            <Link href={`/kb/pages/${page.id}`}>
              <ExactLine text={page.title} />
            </Link>{" "}
            <span className="fine">
              <ExactLine text={page.type} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Where one is, and the way up. */
export function Trail({ dir }: { readonly dir: string }) {
  const parts = dir.split("/").filter(Boolean);
  return (
    <nav className="kb-trail" aria-label={names.directories}>
      <Link href="/kb">{names.top}</Link>
      {parts.map((part, n) => {
        const path = parts.slice(0, n + 1).join("/");
        return (
          <span key={path}>
            {" / "}
            <Link href={`/kb?dir=${encodeURIComponent(path)}`}>
              <ExactLine text={part} />
            </Link>
          </span>
        );
      })}
    </nav>
  );
}
