import type { InfiniteData, Query, QueryClient } from "@tanstack/react-query";
import { api, ask, type Task } from "../api.ts";
import { readAnew } from "./read-anew.ts";
import { takeTold } from "./told-tasks.ts";

/** So many are read one by one; where there are more, the lists are read whole. */
const mostSingly = 20;

interface Page {
  readonly tasks: Task[];
  readonly nextCursor: string | null;
}

type Pages = InfiniteData<Page, string | undefined>;

/**
 * Reads tasks anew and puts them where they are shown, in lists and on their own: a list of many pages is not read for one of
 * its cards. So are those that ask for the very same as one of them, since their cards say how many do. Where that cannot be
 * done, all that is shown of tasks is read whole.
 */
export async function readTasks(client: QueryClient, ids: ReadonlySet<string>): Promise<void> {
  const isWhole = ids.size > mostSingly || listsOf(client).some(isBeingRead) || !(await readSingly(client, ids));
  if (isWhole) await readAnew(client, { queryKey: ["tasks"] });
}

async function readSingly(client: QueryClient, ids: ReadonlySet<string>): Promise<boolean> {
  try {
    const read = await readEach(ids);
    takeTold(read);
    const like = equalTo(read, knownTo(client));
    if (like.size > mostSingly) return false;
    const tasks = [...read, ...(await readEach(like))];
    if (listsOf(client).some(isBeingRead)) return false;
    await putTasks(client, tasks);
    return true;
  } catch {
    return false;
  }
}

async function readEach(ids: ReadonlySet<string>): Promise<Task[]> {
  return await Promise.all([...ids].map((id) => ask(api.tasks[":id"].$get({ param: { id } }))));
}

/** Puts tasks, as the server has them, where they are shown. */
export async function putTasks(client: QueryClient, tasks: readonly Task[]): Promise<void> {
  for (const task of tasks) {
    const queryKey = ["tasks", task.id];
    // One that is settled is shown by its own row from then on.
    if (client.getQueryState(queryKey) === undefined && task.status === "open") continue;
    // What was asked for before may be older.
    await client.cancelQueries({ queryKey, exact: true });
    client.setQueryData(queryKey, task);
  }
  const stale: Promise<void>[] = [];
  for (const list of listsOf(client)) {
    // One that is to be read whole when it is shown again stays so.
    const { data, isInvalidated, dataUpdatedAt: updatedAt } = list.state;
    if (data === undefined || isInvalidated) continue;
    const put = putIn(data, statusOf(list), tasks);
    if (put === undefined) stale.push(client.invalidateQueries({ queryKey: list.queryKey, exact: true }));
    else if (put !== data) client.setQueryData(list.queryKey, put, { updatedAt });
  }
  await Promise.all(stale);
}

/** Pages with the tasks in them; undefined where only the server can say what stands in them. */
function putIn(data: Pages, status: string, tasks: readonly Task[]): Pages | undefined {
  const stood = new Set(data.pages.flatMap((page) => page.tasks.map(({ id }) => id)));
  const added = tasks.filter((task) => !stood.has(task.id) && task.status === status);
  const last = data.pages.at(-1);
  // Lists other than the open ones begin with the newest.
  if (added.length > 0 && (status !== "open" || last === undefined)) return undefined;
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const pages = data.pages.map((page) => {
    const isChanged = page.tasks.some(({ id }) => byId.has(id));
    const isEnd = page === last && page.nextCursor === null && added.length > 0;
    if (!isChanged && !isEnd) return page;
    const now = page.tasks.map((task) => byId.get(task.id) ?? task);
    return { ...page, tasks: isEnd ? [...now, ...added.toSorted((one, other) => (one.id < other.id ? -1 : 1))] : now };
  });
  return pages.some((page, n) => page !== data.pages[n]) ? { ...data, pages } : data;
}

/** Which of the known tasks that wait ask for the very same as one of these, as far as a page can tell. */
function equalTo(tasks: readonly Task[], known: readonly Task[]): ReadonlySet<string> {
  const own = new Set(tasks.map(({ id }) => id));
  const asked = new Set(tasks.flatMap((task) => whatOf(task) ?? []));
  const isLike = (task: Task): boolean => !own.has(task.id) && task.status === "open" && asked.has(whatOf(task) ?? "");
  return new Set(known.filter(isLike).map(({ id }) => id));
}

function whatOf({ approval }: Task): string | undefined {
  return approval === null ? undefined : `${approval.tool} ${approval.argsDigest}`;
}

function knownTo(client: QueryClient): readonly Task[] {
  const inLists = listsOf(client).flatMap((list) => list.state.data?.pages.flatMap((page) => page.tasks) ?? []);
  const alone = client
    .getQueryCache()
    .findAll({ predicate: ({ queryKey: [noun, id] }) => noun === "tasks" && typeof id === "string" })
    .flatMap((query) => (query.state.data as Task | undefined) ?? []);
  return [...inLists, ...alone];
}

function listsOf(client: QueryClient): readonly Query<Pages, Error, Pages>[] {
  const isList = ({ queryKey: [noun, of] }: Query): boolean => noun === "tasks" && typeof of === "object";
  return client.getQueryCache().findAll({ predicate: isList }) as unknown as readonly Query<Pages, Error, Pages>[];
}

function statusOf({ queryKey: [, of] }: Query<Pages, Error, Pages>): string {
  return (of as { readonly status: string }).status;
}

function isBeingRead({ state }: Query<Pages, Error, Pages>): boolean {
  return state.fetchStatus !== "idle";
}
