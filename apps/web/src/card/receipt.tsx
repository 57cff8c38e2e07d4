import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { Failure, Waiting } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";

const names = words.card.receipt;

/** What was shown to whom, and what they said of it, as the audit has it sealed. */
export function Receipt({ approvalId }: { readonly approvalId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["receipts", approvalId],
    queryFn: () => ask(api.approvals[":id"].receipt.$get({ param: { id: approvalId } })),
  });
  if (data === undefined) {
    return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;
  }
  const facts = [
    [names.cardHash, data.cardHash],
    [names.argsHash, data.argsHash],
    [names.editedArgsHash, data.editedArgsHash],
    [names.definitionHash, data.definitionHash],
    [names.policy, data.policyVersions],
  ] as const;
  return (
    <div className="receipt">
      <p>{data.isSealed ? names.sealed : names.unsealed}</p>
      <table className="table">
        <tbody>
          {data.entries.map((entry) => (
            <tr key={entry.auditId}>
              <td>
                <Time at={entry.at} />
              </td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td>
                <ExactLine text={entry.actorName ?? entry.actor} />
              </td>
              <td className="fine">{entry.seal === null ? names.waits : names.seal(entry.seal.seq)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <dl className="facts">
        {facts.map(
          ([name, value]) =>
            value !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code className="digest">
                    <ExactLine text={value} />
                  </code>
                </dd>
              </div>
            ),
        )}
      </dl>
      <p>
        <a href={`/v1/approvals/${approvalId}/receipt`} download={`receipt-${approvalId}.json`}>
          {names.download}
        </a>
      </p>
    </div>
  );
}
