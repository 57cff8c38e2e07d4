import { api, ask } from "../api.ts";
import { download } from "../parts/download.ts";

/** Hands over every page below a directory that one may read, as one file of JSON: a list of paths with their texts. */
export async function exportAll(dir: string): Promise<void> {
  const files: { readonly path: string; readonly text: string }[] = [];
  let cursor: string | undefined;
  do {
    const part = await ask(
      api.export.$get({ query: { dir, limit: 200, ...(cursor === undefined ? {} : { cursor }) } }),
    );
    files.push(...part.files);
    cursor = part.nextCursor ?? undefined;
  } while (cursor !== undefined);
  download(JSON.stringify(files, undefined, 2), `pages${dir === "" ? "" : `-${dir.replaceAll("/", "-")}`}.json`);
}
