import { type QueryClient, useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, ask, NoAnswer, Refused, type Task } from "./api.ts";
import { putTasks } from "./live/read-tasks.ts";
import { dropGoal } from "./parts/goal.ts";
import { belongTo } from "./whose.ts";

/*
 * What the pages read, by keys that begin with the noun: what the stream says of a run or a task finds them all
 * (live/use-live.ts).
 */

/** Who is signed in, and what they may. */
export function useMe() {
  return useQuery({
    queryKey: ["me"],
    queryFn: async () => {
      const me = await ask(api.me.$get());
      belongTo({ userId: me.id, tokenId: me.tokenId });
      return me;
    },
    staleTime: 300_000,
  });
}

export const taskStatuses = ["open", "done", "dismissed", "expired", "canceled"] as const;

export type TaskStatus = (typeof taskStatuses)[number];

/**
 * The tasks and cards of a status, of a kind if given, by pages: open ones oldest first, others newest first. `found` is
 * what stands so among those that are read: while it is nothing and there are more, these are read by themselves, so that
 * nothing is said to be all only once all is read.
 */
export function useTasks(status: TaskStatus, kind: Task["kind"] | "" = "") {
  const query = useInfiniteQuery({
    queryKey: ["tasks", { status }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(api.tasks.$get({ query: { status, ...(cursor === undefined ? {} : { cursor }) } })),
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  const { data, error, hasNextPage, isFetching, fetchNextPage } = query;
  const found = useMemo(
    () =>
      data?.pages
        .flatMap((page) => page.tasks)
        // One that was decided here is read before the list is.
        .filter((task) => task.status === status && (kind === "" || task.kind === kind)),
    [data, status, kind],
  );
  const isMoreMeant = found?.length === 0 && hasNextPage && !isFetching && error === null;
  useEffect(() => {
    if (isMoreMeant) void fetchNextPage({ cancelRefetch: false });
  }, [isMoreMeant, fetchNextPage]);
  return { query, found };
}

const taskQuery = (id: string) => ({
  queryKey: ["tasks", id],
  queryFn: () => ask(api.tasks[":id"].$get({ param: { id } })),
});

/** One task; a card with what it stands for. It is read only where `isMeant`. */
export function useTask(id: string, isMeant = true) {
  return useQuery({ ...taskQuery(id), enabled: isMeant });
}

/**
 * Afterwards a task that was decided on, and the runs that are shown, stand as the server has them. A list of many pages
 * is not read for one of its cards: that comes with the news of the change.
 */
export async function readTaskAnew(client: QueryClient, id: string, error: Error | null): Promise<void> {
  const readTask = async (): Promise<void> => {
    try {
      const task = await taskQuery(id).queryFn();
      await putTasks(client, [task]);
    } catch {
      void client.invalidateQueries({ queryKey: ["tasks"] });
    }
  };
  const reading = Promise.all([readTask(), client.invalidateQueries({ queryKey: ["runs"] })]);
  // Where nobody answers, nobody is waited for.
  if (!(error instanceof NoAnswer)) await reading;
}

/** Afterwards the browser has no session, and shows where to sign in; so does one whose session had ended already. */
export function useSignOut() {
  const leave = (): void => {
    dropGoal();
    location.assign("/login");
  };
  return useMutation({
    mutationFn: (tokenId: string) => ask(api.tokens[":id"].$delete({ param: { id: tokenId } })),
    onSuccess: leave,
    onError: (error) => {
      if (isSignedOut(error)) leave();
    },
  });
}

/** True of the refusal of who is not signed in. */
export function isSignedOut(error: Error | null): boolean {
  return error instanceof Refused && error.problem.code === "unauthenticated";
}

export type RunStatus = NonNullable<Parameters<typeof api.runs.$get>[0]["query"]["status"]>;

/** The runs of a status, or all, newest first, by pages. */
export function useRuns(status: RunStatus | undefined) {
  return useInfiniteQuery({
    queryKey: ["runs", { status }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(
        api.runs.$get({
          query: { ...(status === undefined ? {} : { status }), ...(cursor === undefined ? {} : { cursor }) },
        }),
      ),
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
}

/** The most entries the server gives at once. */
const entriesAtOnce = 1_000;

/** Beyond the last line of any run. */
const theEnd = 2_000_000_000;

type TreePart = { readonly after: number } | { readonly before: number } | { readonly around: string };

/**
 * A run with what happened in it, by parts in both directions: from its latest on, where what waits for a person is, or
 * from `around`, an address within the page such as `#step-7` or `#call-…`.
 */
export function useRunTree(id: string, around: string) {
  return useInfiniteQuery({
    queryKey: ["runs", id, "tree", around],
    initialPageParam: partAround(around),
    queryFn: ({ pageParam: part }) =>
      ask(api.runs[":id"].tree.$get({ param: { id }, query: { ...part, limit: entriesAtOnce } })),
    getNextPageParam: (part): TreePart | undefined => (part.nextAfter === null ? undefined : { after: part.nextAfter }),
    getPreviousPageParam: (part): TreePart | undefined =>
      part.prevBefore === null ? undefined : { before: part.prevBefore },
  });
}

function partAround(address: string): TreePart {
  const [, around] = /^#(?:step|call)-([\da-f-]+)$/.exec(address) ?? [];
  return around === undefined ? { before: theEnd } : { around };
}

/** The tools there are, for what a card says of one beside the call itself. */
export function useTools() {
  return useQuery({ queryKey: ["tools"], queryFn: () => ask(api.tools.$get()), staleTime: Number.POSITIVE_INFINITY });
}

/** The agents there are. */
export function useDefinitions() {
  return useQuery({
    queryKey: ["definitions"],
    queryFn: async () => {
      const pages = await readAll((query) => ask(api.definitions.$get({ query })));
      return { definitions: pages.flatMap((page) => page.definitions) };
    },
  });
}

/** The people of the workspace, by name: for whoever has to name one. */
export function usePeople() {
  return useQuery({ queryKey: ["users", "people"], queryFn: readPeople });
}

async function readPeople(): Promise<{ readonly id: string; readonly name: string }[]> {
  const pages = await readAll((query) => ask(api.people.$get({ query })));
  const people = pages.flatMap((page) => page.people);
  return people.toSorted((one, other) => one.name.localeCompare(other.name));
}

/** All pages of a list, for what is looked through as a whole. */
export async function readAll<P extends { readonly nextCursor: string | null }>(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<P>,
): Promise<P[]> {
  const pages: P[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await read({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page);
    if (page.nextCursor === null) return pages;
    cursor = page.nextCursor;
  }
}
