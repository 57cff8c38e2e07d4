import type { InferResponseType } from "hono/client";
import { type Answer, api, ask, Refused } from "../api.ts";
import { words } from "../words.ts";

type Brought = Answer<InferResponseType<typeof api.import.$post>>["files"][number];

/** What came of a file. */
export interface Outcome extends Pick<Brought, "path" | "notes"> {
  readonly outcome: Brought["outcome"] | "refused";
}

interface Sent {
  readonly path: string;
  readonly text: string;
}

/** The most that the server takes at once, in files and in bytes; a little less, for what goes around them. */
const mostFiles = 200;
const mostBytes = 1_000_000;

/**
 * Imports files below a directory, as many at once as the server takes. Whatever is refused keeps the others from nothing.
 * Throws NoAnswer where nobody answers; what was imported before is then unchanged when all are sent again.
 */
export async function bringFiles(dir: string, files: readonly File[]): Promise<readonly Outcome[]> {
  const read = await Promise.all(
    files.map(async (file) => ({ path: file.webkitRelativePath || file.name, text: await readText(file) })),
  );
  const outcomes: Outcome[] = read.flatMap(({ path, text }) =>
    text === undefined ? [{ path, outcome: "refused" as const, notes: [words.kb.notUtf8] }] : [],
  );
  for (const batch of inBatches(read.flatMap(({ path, text }) => (text === undefined ? [] : [{ path, text }]))))
    outcomes.push(...(await send(dir, batch)));
  return outcomes;
}

async function send(dir: string, files: Sent[]): Promise<readonly Outcome[]> {
  try {
    return (await ask(api.import.$post({ header: {}, json: { dir, files } }))).files;
  } catch (error) {
    if (!(error instanceof Refused) || ![413, 422].includes(error.problem.status)) throw error;
    const notes = [error.message];
    return files.map(({ path }) => ({ path, outcome: "refused", notes }));
  }
}

/** In the order in which they are. One that is too large for itself goes alone, for the server to say so. */
export function inBatches(files: readonly Sent[]): Sent[][] {
  const batches: Sent[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    const size = new TextEncoder().encode(JSON.stringify(file)).length + 1;
    const last = batches.at(-1);
    if (last === undefined || last.length === mostFiles || bytes + size > mostBytes) {
      batches.push([file]);
      bytes = size;
    } else {
      last.push(file);
      bytes += size;
    }
  }
  return batches;
}

/** To the letter; undefined where the bytes are no UTF-8, since any reading would change them. */
async function readText(file: File): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
