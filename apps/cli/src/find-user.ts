import { ask, type Client } from "./client.ts";
import { readEveryPage } from "./every-page.ts";
import { CliError } from "./exit.ts";
import { endOfId } from "./find-id.ts";

/** The person or service of that name or id; whoever asks unless one is named. Refused where it names none, or several. */
export async function findUserId(client: Client, name: string | undefined): Promise<string> {
  if (name === undefined) return (await ask(client.v1.me.$get())).id;
  const users = await readEveryPage(async (query) => {
    const { users: rows, nextCursor } = await ask(client.v1.users.$get({ query }));
    return { rows, nextCursor };
  });
  const found = namedBy(users, name);
  if (found[0] !== undefined && found.length === 1) return found[0].id;
  throw new CliError(
    "usage",
    `${found.length === 0 ? "Nobody" : "More than one"} is named ${JSON.stringify(name)}; there are: ${users.map((user) => user.name).join(", ")}.`,
  );
}

const wholeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The person of that name or id, for whoever may not look at accounts. Refused where it names none, or several. */
export async function findPersonId(client: Client, given: string): Promise<string> {
  if (wholeId.test(given)) return given;
  const people = await readEveryPage(async (query) => {
    const { people: rows, nextCursor } = await ask(client.v1.people.$get({ query }));
    return { rows, nextCursor };
  });
  const found = namedBy(people, given);
  if (found[0] !== undefined && found.length === 1) return found[0].id;
  throw new CliError(
    "usage",
    `${found.length === 0 ? "Nobody" : "More than one"} is named ${JSON.stringify(given)}; there are: ${people.map(({ name }) => name).join(", ")}.`,
  );
}

/** Those of that name or id; where there are none, those whose id ends with it, as lists show it. */
function namedBy<T extends { readonly id: string; readonly name: string }>(list: readonly T[], given: string): T[] {
  const named = list.filter(({ id, name }) => name === given || id === given);
  if (named.length > 0 || !endOfId.test(given)) return named;
  return list.filter(({ id }) => id.endsWith(given.toLowerCase()));
}
