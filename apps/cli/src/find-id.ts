import { ask, type Client, type ListedRun, type RunStatus, type TaskStatus } from "./client.ts";
import { CliError } from "./exit.ts";

/** How many of the newest runs, or of the tasks of one status, are looked through for a short id. */
const mostLookedThrough = 1_000;

const wholeId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** What stands for an id: its last digits. */
export const endOfId = /^[0-9a-f]{4,12}$/i;

/** What people are shown of an id: its end, since ids of one minute begin alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The task that `given` names, by its whole id or the end of it; open ones are looked for first. */
export async function findTaskId(client: Client, given: string): Promise<string> {
  if (wholeId.test(given)) return given;
  const statuses: readonly TaskStatus[] = ["open", "done", "dismissed", "expired", "canceled"];
  for (const status of statuses) {
    const found = await findByEnd("task", given, (cursor) =>
      ask(client.v1.tasks.$get({ query: { status, limit: 200, ...cursor } })).then(({ tasks, nextCursor }) => ({
        ids: tasks.map((task) => task.id),
        nextCursor,
      })),
    );
    if (found !== undefined) return found;
  }
  throw new CliError(
    "error",
    `There is no task whose id ends with ${given}. ./countersign tasks ls shows the open ones.`,
  );
}

/** The run that `given` names, by its whole id or the end of it; among the newest. */
export async function findRunId(client: Client, given: string): Promise<string> {
  if (wholeId.test(given)) return given;
  const found = await findByEnd("run", given, (cursor) =>
    ask(client.v1.runs.$get({ query: { limit: 200, ...cursor } })).then(({ runs, nextCursor }) => ({
      ids: runs.map((run) => run.id),
      nextCursor,
    })),
  );
  if (found !== undefined) return found;
  throw new CliError("error", `There is no run whose id ends with ${given}. ./countersign runs ls shows the newest.`);
}

/** What `given` names of a list, by its whole id or the end of it; `read` gives a page of the list's ids. */
export async function findListedId(
  noun: string,
  given: string,
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page>,
): Promise<string> {
  if (wholeId.test(given)) return given;
  const found = await findByEnd(noun, given, (cursor) => read({ limit: 200, ...cursor }));
  if (found !== undefined) return found;
  throw new CliError("error", `There is no ${noun} whose id ends with ${given}.`);
}

/** The newest runs, of one status where it is given. */
export async function listRuns(client: Client, limit: number, status?: RunStatus): Promise<ListedRun[]> {
  const query = { limit, ...(status === undefined ? {} : { status }) };
  const { runs } = await ask(client.v1.runs.$get({ query }));
  return runs;
}

type Page = { readonly ids: readonly string[]; readonly nextCursor: string | null };

async function findByEnd(
  noun: string,
  given: string,
  read: (cursor: { cursor?: string }) => Promise<Page>,
): Promise<string | undefined> {
  if (!endOfId.test(given)) {
    throw new CliError(
      "usage",
      `${JSON.stringify(given)} is no id of a ${noun}; expected all of it, or its last 4 to 12 digits.`,
    );
  }
  const end = given.toLowerCase();
  const matches: string[] = [];
  let cursor: { cursor?: string } = {};
  for (let seen = 0; seen < mostLookedThrough;) {
    const { ids, nextCursor } = await read(cursor);
    matches.push(...ids.filter((id) => id.endsWith(end)));
    seen += ids.length;
    if (nextCursor === null) break;
    cursor = { cursor: nextCursor };
  }
  if (matches.length > 1) throw new CliError("usage", `Several ${noun}s end with ${given}: ${matches.join(", ")}.`);
  return matches[0];
}
