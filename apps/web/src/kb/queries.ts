import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api.ts";

/** One level of the directories, and its pages. */
export function useLevel(dir: string) {
  return useQuery({
    queryKey: ["pages", { dir }],
    queryFn: () => ask(api.directories.$get({ query: { dir } })),
  });
}

/** The best hits of a search; nothing is asked while there is nothing to look for. */
export function useSearch(q: string) {
  return useQuery({
    queryKey: ["pages", { q }],
    queryFn: () => ask(api.search.$get({ query: { q } })),
    enabled: q !== "",
  });
}

/** A page as it is now. */
export function usePage(id: string) {
  return useQuery({ queryKey: ["pages", id], queryFn: () => ask(api.pages[":id"].$get({ param: { id }, query: {} })) });
}

/** The changes of a page, newest first, by parts. */
export function useHistory(page: string) {
  return useInfiniteQuery({
    queryKey: ["pages", page, "history"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      ask(api.commands.$get({ query: { page, limit: 30, ...(cursor === undefined ? {} : { cursor }) } })),
    getNextPageParam: (part) => part.nextCursor ?? undefined,
  });
}

/** One change, with what it changed. */
export function useCommand(id: string) {
  return useQuery({ queryKey: ["commands", id], queryFn: () => ask(api.commands[":id"].$get({ param: { id } })) });
}

export type Page = NonNullable<ReturnType<typeof usePage>["data"]>;

/** Saves a page on the revision it was read at; where others changed other parts of it since, both are kept. */
export async function savePage(asked: { readonly id: string; readonly revision: number; readonly okf: string }) {
  const { id, revision, okf } = asked;
  return await ask(api.pages[":id"].$put({ param: { id }, header: { "if-match": `"${revision}"` }, json: { okf } }));
}
