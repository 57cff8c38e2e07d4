import { Link } from "wouter";
import { ExactLine } from "../parts/exact-text.tsx";
import { Empty, Failure, Waiting } from "../parts/states.tsx";
import { words } from "../words.ts";
import { useSearch } from "./queries.ts";

const names = words.kb;

/** What a search found, each with the lists that found it. */
export function Hits({ q, onClear }: { readonly q: string; readonly onClear: () => void }) {
  const { data, error, refetch } = useSearch(q);
  if (data === undefined) {
    return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;
  }
  return (
    <>
      <p className="list-note">
        <button type="button" className="quiet" onClick={onClear}>
          ← {names.clear}
        </button>
      </p>
      {data.leftOut.map(({ list, reason }) => (
        <p key={list} className="list-note">
          <ExactLine text={names.leftOut(list, reason)} />
        </p>
      ))}
      {data.hits.length === 0 && <Empty title={names.noHits} />}
      <ol className="kb-hits">
        {data.hits.map((hit, n) => (
          <li key={n}>
            <Link href={`/kb/pages/${hit.pageId}${hit.nodeId === null ? "" : `#node-${hit.nodeId}`}`}>
              <ExactLine text={hit.pageTitle} />
            </Link>{" "}
            <span className="fine">
              <ExactLine text={[hit.dir, hit.kind, names.foundBy(hit.lists)].filter(Boolean).join(" · ")} />
            </span>
            <p>
              <ExactLine text={hit.excerpt} />
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}
