import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { api, ask, Refused } from "./api.ts";

/*
 * What the pages read, by keys that begin with the noun: what the stream says of a run or a task finds them all
 * (live/use-live.ts).
 */

/** Who is signed in, and what they may. */
export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: () => ask(api.me.$get()), staleTime: 300_000 });
}

export const taskStatuses = ["open", "done", "dismissed", "expired", "canceled"] as const;

export type TaskStatus = (typeof taskStatuses)[number];

/** The tasks and cards of a status by pages: open ones oldest first, others newest first. */
export function useTasks(status: TaskStatus) {
  return useInfiniteQuery({
    queryKey: ["tasks", { status }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(api.tasks.$get({ query: { status, ...(cursor === undefined ? {} : { cursor }) } })),
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
}

/** The open tasks as far as they are read: the queue, and the number on every page. */
export function useOpenTasks() {
  return useTasks("open");
}

/** One task; a card with what it stands for. */
export function useTask(id: string) {
  return useQuery({ queryKey: ["tasks", id], queryFn: () => ask(api.tasks[":id"].$get({ param: { id } })) });
}

/** Afterwards the browser has no session, and shows where to sign in. A session that is over already is none. */
export function useSignOut() {
  return useMutation({
    mutationFn: async (tokenId: string) => {
      try {
        await ask(api.tokens[":id"].$delete({ param: { id: tokenId } }));
      } catch (error) {
        if (!(error instanceof Refused && error.problem.code === "unauthenticated")) throw error;
      }
    },
    onSuccess: () => location.assign("/login"),
  });
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
  const [, kind, name = ""] = /^#(step|call)-([\da-f-]+)$/.exec(address) ?? [];
  if (kind === "call") return { around: name };
  return kind === "step" ? { after: Math.max(0, Number(name) - entriesAtOnce / 2) } : { before: theEnd };
}

/** The tools there are, for what a card says of one beside the call itself. */
export function useTools() {
  return useQuery({ queryKey: ["tools"], queryFn: () => ask(api.tools.$get()), staleTime: Number.POSITIVE_INFINITY });
}

/** The agents there are. */
export function useDefinitions() {
  return useQuery({ queryKey: ["definitions"], queryFn: () => ask(api.definitions.$get({ query: {} })) });
}

/** The people of the workspace, by name: for whoever has to name one. */
export function usePeople() {
  return useQuery({ queryKey: ["users", "people"], queryFn: readPeople });
}

async function readPeople(): Promise<{ readonly id: string; readonly name: string }[]> {
  const people: { readonly id: string; readonly name: string }[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await ask(api.people.$get({ query: { limit: 200, ...(cursor === undefined ? {} : { cursor }) } }));
    people.push(...page.people);
    if (page.nextCursor === null) return people.toSorted((one, other) => one.name.localeCompare(other.name));
    cursor = page.nextCursor;
  }
}
