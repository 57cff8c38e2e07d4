import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";

vi.stubGlobal("location", { origin: "http://127.0.0.1" });
const { createRefresher } = await import("./refresher.ts");

/** A list that is shown and being read for the first time; `answer` ends its first reading. */
function givenFirstReading(client: QueryClient, queryKey: readonly unknown[]) {
  const first = Promise.withResolvers<string>();
  let count = 0;
  const queryFn = async (): Promise<string> => {
    count += 1;
    return count === 1 ? await first.promise : "as it is now";
  };
  const observer = new QueryObserver(client, { queryKey, queryFn });
  const end = observer.subscribe(() => undefined);
  return { answer: () => first.resolve("as it was"), shown: () => observer.getCurrentResult().data, end };
}

test.each([
  ["everything is to be looked at", ["definitions"], { kind: "everything" }],
  ["a run changed", ["runs", { status: "paused" }], { kind: "changes", runs: ["r"], tasks: [], policies: [] }],
  ["a task changed", ["tasks", { status: "open" }], { kind: "changes", runs: [], tasks: [{ id: "t" }], policies: [] }],
] as const)("what was asked for before the news that %s is asked for again after its answer", async (_, key, news) => {
  const client = new QueryClient();
  const { answer, shown, end } = givenFirstReading(client, key);
  createRefresher(client)(news);
  answer();
  await expect.poll(shown, { timeout: 5_000 }).toBe("as it is now");
  end();
});
