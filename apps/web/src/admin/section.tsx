import type { ReactNode } from "react";
import { Refused } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { Failure, Waiting } from "../parts/states.tsx";
import { words } from "../words.ts";

interface Query<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
  refetch(): unknown;
}

interface Props<T> {
  readonly title: string;
  readonly lead: string;
  readonly action?: ReactNode;
  /** What one chooses by what is read; it stays while another is read. */
  readonly choice?: ReactNode;
  readonly query: Query<T>;
  readonly children: (data: T) => ReactNode;
}

/** A part of the administration: what it is for, what one may do there, and what there is. */
export function Section<T>({ title, lead, action, choice, query, children }: Props<T>) {
  const { data, error } = query;
  const isNotYours = error instanceof Refused && error.problem.status === 403;
  return (
    <section className="admin-section">
      <div className="page-head">
        <h1>{title}</h1>
        {data !== undefined && !isNotYours && action}
      </div>
      <p className="lead">{lead}</p>
      {!isNotYours && choice}
      {isNotYours ? (
        <p className="state">
          {words.admin.notYours} <ExactLine text={error.message} />
        </p>
      ) : data !== undefined ? (
        children(data)
      ) : error === null ? (
        <Waiting />
      ) : (
        <Failure error={error} onRetry={() => void query.refetch()} />
      )}
    </section>
  );
}
