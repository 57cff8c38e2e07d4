import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { HandOverDialog } from "../card/hand-over-dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Found } from "../parts/found.tsx";
import { Time, useNow } from "../parts/time.tsx";
import { useAct } from "../parts/use-act.ts";
import { RowAct, RowActs } from "../parts/row-acts.tsx";
import { Refusal } from "../parts/states.tsx";
import { readAll } from "../queries.ts";
import { words } from "../words.ts";

const names = words.admin.account;

/** Says that were handed over, and a way to take them back. */
export function Delegations({
  userId,
  isAdmin,
  mayHandOver,
}: {
  readonly userId: string;
  readonly isAdmin: boolean;
  readonly mayHandOver: boolean;
}) {
  const [isHanding, setHanding] = useState(false);
  const now = useNow(60_000);
  const query = useQuery({
    queryKey: ["delegations"],
    queryFn: () => readAll((query) => ask(api.delegations.$get({ query }))),
  });
  const revoke = useAct("delegations", (id: string) => ask(api.delegations[":id"].$delete({ param: { id } })));
  const standing = (pages: NonNullable<typeof query.data>) =>
    pages
      .flatMap((page) => page.delegations)
      .filter(({ revokedAt, expiresAt }) => revokedAt === null && new Date(expiresAt).getTime() > now);
  return (
    <section className="admin-part">
      <div className="page-head">
        <h2>{names.delegations}</h2>
        {mayHandOver && (
          <button type="button" onClick={() => setHanding(true)}>
            {names.handOver}
          </button>
        )}
      </div>
      <Refusal error={revoke.error} />
      <Found query={query}>
        {(pages) =>
          standing(pages).length === 0 ? (
            <p className="fine">{names.noDelegations}</p>
          ) : (
            <table className="table">
              <tbody>
                {standing(pages).map(({ id, from, to, approvalId, expiresAt }) => (
                  <tr key={id}>
                    <td>
                      <ExactLine text={names.says(from.name, to.name)} />
                    </td>
                    <td className="fine">{approvalId === null ? names.all : names.one}</td>
                    <td className="fine">
                      {names.until} <Time at={expiresAt} />
                    </td>
                    <RowActs>
                      {(isAdmin || from.id === userId || to.id === userId) && (
                        <RowAct
                          of={names.says(from.name, to.name)}
                          isDisabled={revoke.isPending}
                          onPress={() => revoke.mutate(id)}
                        >
                          {names.takeBack}
                        </RowAct>
                      )}
                    </RowActs>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Found>
      {isHanding && <HandOverDialog onClose={() => setHanding(false)} />}
    </section>
  );
}
