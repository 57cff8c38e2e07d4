import { ask, type Client } from "./client.ts";
import { CliError } from "./exit.ts";

/** The page of that id, title or alias, the exact title first. Refused where there is none, or several. */
export async function findPageId(client: Client, given: string): Promise<string> {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(given)) return given;
  const { pages } = await ask(client.v1.pages.$get({ query: { name: given, limit: 10 } }));
  const exact = pages.filter(({ title }) => title === given);
  const [page, ...others] = exact.length > 0 ? exact : pages;
  if (page === undefined) {
    throw new CliError(
      "error",
      `There is no page ${JSON.stringify(given)}. ./countersign kb search <words> finds pages.`,
    );
  }
  if (others.length === 0) return page.id;
  const which = [page, ...others].map(({ id, dir }) => `${id} in ${dir === "" ? "the top" : dir}`).join(", ");
  throw new CliError("usage", `Several pages are called ${JSON.stringify(given)}: ${which}. Name one by its id.`);
}
