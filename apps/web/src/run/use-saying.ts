import { useQuery } from "@tanstack/react-query";
import { ask, Refused } from "../api.ts";

/** What the model says in the turn that is not recorded yet. */
export interface Saying {
  readonly turn: number;
  readonly text: string;
  readonly thinking: string;
  /** The tools it has begun to call. */
  readonly tools: readonly string[];
  /** Why it says nothing, where it was asked in vain so far. */
  readonly trouble: string | null;
}

/** How often it is asked for, in milliseconds: as often as it is written. */
const everyMs = 400;

/**
 * What the model of a running run says while it says it. Asked for again and again rather than streamed: a further stream
 * of each tab would use up the connections a browser has to a server.
 */
export function useSaying(runId: string, isRunning: boolean): Saying | undefined {
  const { data } = useQuery({
    queryKey: ["saying", runId],
    queryFn: () => ask(fetch(`/v1/runs/${runId}/saying`)) as Promise<Saying>,
    enabled: isRunning,
    staleTime: 0,
    gcTime: 0,
    refetchInterval: ({ state }) => (state.error instanceof Refused ? false : everyMs),
  });
  return isRunning ? data : undefined;
}
