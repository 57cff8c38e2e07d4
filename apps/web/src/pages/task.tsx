import { Link } from "wouter";
import { Card } from "../card/card.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Failure, Waiting } from "../parts/states.tsx";
import { useTask } from "../queries.ts";
import { words } from "../words.ts";

/** One card by its own address, to send to somebody or to come back to. */
export function TaskPage({ id }: { readonly id: string }) {
  const { data, error, refetch } = useTask(id);
  return (
    <>
      <p className="way-back">
        <Link href="/tasks">← {words.tasks.all}</Link>
      </p>
      <h1 className="unseen">
        <ExactLine text={data?.title ?? words.tasks.titles.open} />
      </h1>
      {data === undefined ? (
        error === null ? (
          <Waiting />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <Card task={data} place="run" />
      )}
    </>
  );
}
