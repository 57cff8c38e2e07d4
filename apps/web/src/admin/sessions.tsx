import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { readAll } from "../queries.ts";
import { Refusal } from "../parts/states.tsx";
import { Found } from "../parts/found.tsx";
import { Time } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import "../run/standing-badge.css";
import { words } from "../words.ts";

const names = words.admin.account;

/** What signs in as this person: each can be ended, and all others at once. */
export function Sessions({ userId, tokenId }: { readonly userId: string; readonly tokenId: string }) {
  const query = useQuery({
    queryKey: ["tokens", userId],
    queryFn: () => readAll((asked) => ask(api.tokens.$get({ query: { user: userId, standing: "live", ...asked } }))),
  });
  const end = useAct("tokens", async (ids: readonly string[]) => {
    for (const id of ids) await ask(api.tokens[":id"].$delete({ param: { id } }));
  });
  const tokens = query.data?.flatMap((page) => page.tokens) ?? [];
  const others = tokens.filter((token) => token.kind === "session" && token.id !== tokenId).map((token) => token.id);
  return (
    <section className="admin-part">
      <div className="page-head">
        <h2>{names.sessions}</h2>
        {others.length > 0 && (
          <button type="button" disabled={end.isPending} onClick={() => end.mutate(others)}>
            {names.elsewhere}
          </button>
        )}
      </div>
      <Refusal error={end.error} />
      <Found query={query}>
        {() => (
          <table className="table">
            <tbody>
              {tokens.map((token) => (
                <tr key={token.id}>
                  <td>
                    <ExactLine text={token.label} />{" "}
                    {token.id === tokenId && <span className="standing running">{names.thisOne}</span>}
                  </td>
                  <td className="fine">
                    {token.lastUsedAt === null ? (
                      words.admin.people.never
                    ) : (
                      <>
                        {words.admin.people.used} <Time at={token.lastUsedAt} />
                      </>
                    )}
                  </td>
                  <RowActs>
                    {token.id !== tokenId && (
                      <RowAct
                        of={token.label}
                        isDangerous
                        isDisabled={end.isPending}
                        onPress={() => end.mutate([token.id])}
                      >
                        {names.end}
                      </RowAct>
                    )}
                  </RowActs>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Found>
    </section>
  );
}
