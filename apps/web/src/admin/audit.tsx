import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";
import { TextField } from "../parts/fields.tsx";
import { useTyped } from "../parts/use-typed.ts";
import { AuditCheck } from "./audit-check.tsx";
import { Section } from "./section.tsx";

const names = words.admin.audit;

/** What was done, newest first, with its place in the sealed chain. */
export function Audit() {
  const [search, setSearch] = useSearchParams();
  const asked = search.get("action") ?? "";
  const query = useInfiniteQuery({
    queryKey: ["audit", "rows", asked],
    // What is typed stays, and the focus in it, while another list is on its way.
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.audit.$get({
          query: { ...(asked === "" ? {} : { action: asked }), ...(cursor === undefined ? {} : { cursor }) },
        }),
      ),
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  return (
    <Section
      title={words.admin.sections.audit}
      lead={names.lead}
      query={query}
      action={
        <a className="button" href="/v1/audit/export" download="audit.jsonl">
          {names.export}
        </a>
      }
    >
      {({ pages }) => {
        const rows = pages.flatMap((page) => page.rows);
        return (
          <>
            <AuditCheck />
            <section className="admin-part">
              <h2>{names.rows}</h2>
              <Filter asked={asked} onAsk={(action) => setSearch(action === "" ? {} : { action })} />
              {rows.length === 0 && <Empty title={asked === "" ? words.admin.none : names.filteredEmpty} />}
              <table className="table rows-of-words">
                <tbody>
                  {rows.map((row) => (
                    <tr key={row.id}>
                      <td>
                        <code>{row.action}</code>
                        {row.subject !== null && (
                          <div className="fine">
                            <ExactLine text={row.subject} />
                          </div>
                        )}
                      </td>
                      <td>
                        <ExactLine text={row.actorName ?? row.actor} />
                      </td>
                      <td>
                        <Time at={row.at} />
                      </td>
                      <td className="fine">{row.seq === null ? names.unsealed : names.seq(row.seq)}</td>
                      <td className="fine">
                        {row.runId !== null && <Link href={`/runs/${row.runId}`}>{words.runs.columns.run}</Link>}{" "}
                        {row.details !== null && (
                          <code>
                            <ExactLine text={JSON.stringify(row.details)} />
                          </code>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {query.hasNextPage && (
                <p className="more">
                  <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                    {words.admin.older}
                  </button>
                </p>
              )}
            </section>
          </>
        );
      }}
    </Section>
  );
}

function Filter({ asked, onAsk }: { readonly asked: string; readonly onAsk: (action: string) => void }) {
  const [action, setAction] = useTyped(asked);
  return (
    <form
      className="inline-fields"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(action.trim());
      }}
    >
      <TextField label={names.action} value={action} onChange={setAction} isCode />
      <button type="submit">{names.filter}</button>
    </form>
  );
}
