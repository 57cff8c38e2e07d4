import type { ReactNode } from "react";
import { Failure, Waiting } from "./states.tsx";

interface Props<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null; refetch(): unknown };
  readonly children: (data: T) => ReactNode;
}

/** What was read; until then that it is on its way, or why it could not be, which is not the same as that there is none. */
export function Found<T>({ query: { data, error, refetch }, children }: Props<T>) {
  if (data !== undefined) return children(data);
  return error === null ? <Waiting /> : <Failure error={error} onRetry={() => void refetch()} />;
}
