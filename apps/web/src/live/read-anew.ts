import type { InvalidateQueryFilters, QueryClient } from "@tanstack/react-query";

/**
 * Reads again what is shown of what the filters find; of all there is without any. What had been asked for and not answered
 * for the first time is asked for once more when it is: that answer may be older than what this is called for.
 */
export async function readAnew(client: QueryClient, filters: InvalidateQueryFilters = {}): Promise<void> {
  const unanswered = client
    .getQueryCache()
    .findAll(filters)
    .filter(({ state }) => state.data === undefined && state.fetchStatus !== "idle");
  await client.invalidateQueries(filters);
  if (unanswered.length > 0) await client.invalidateQueries({ predicate: (query) => unanswered.includes(query) });
}
