import { Refused } from "../api.ts";

/** What the server found wrong at a place of the request, such as `json.changes.0.mode`, or below it; else undefined. */
export function problemAt(error: Error | null, path: string): string | undefined {
  if (!(error instanceof Refused)) return undefined;
  return error.problem.errors?.find((one) => one.path === path || one.path.startsWith(`${path}.`))?.message;
}
