import type { Context } from "hono";
import { z } from "zod";
import type { AppEnv } from "./context.ts";
import { Problem } from "./problem.ts";

/** Where a list goes on. Opaque to clients: it names its list, so that another's is refused. */
function encodeCursor(list: string, lastKey: string): string {
  return Buffer.from(`${list} ${lastKey}`).toString("base64url");
}

const keys = {
  id: z.uuid(),
  /** A number that a bigint holds and JavaScript does exactly. */
  number: z.string().regex(/^\d{1,15}$/),
  /** A title, after the id of what has it. */
  title: z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} [^\0]+$/),
};

/**
 * The key, an id unless told otherwise, that a cursor of `list` stands for; undefined without one. Refuses anything
 * `encodeCursor` did not make for this list.
 */
export function decodeCursor(
  list: string,
  cursor: string | undefined,
  kind: keyof typeof keys = "id",
): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  const key = text.slice(list.length + 1);
  if (text.startsWith(`${list} `) && keys[kind].safeParse(key).success) return key;
  throw new Problem(
    "invalid_cursor",
    "The cursor does not belong to this list with these filters. Start without one, and go on with the `nextCursor` it returns.",
  );
}

export interface Page<T> {
  readonly rows: T[];
  readonly nextCursor: string | null;
}

/** The key of a list by title, whose cursor says both, so that nothing is looked up where it goes on. */
export function titleKeyOf({ id, title }: { readonly id: string; readonly title: string }): string {
  return `${id} ${title}`;
}

/** What `titleKeyOf` made a cursor of `list` of. */
export function decodeTitleCursor(list: string, cursor: string | undefined) {
  const key = decodeCursor(list, cursor, "title");
  return key === undefined ? undefined : { id: key.slice(0, 36), title: key.slice(37) };
}

/** Cuts what was read with `limit + 1` to a page, and announces the next one in the `Link` header. */
export function pageOf<T extends { readonly id: string }>(
  c: Context<AppEnv>,
  list: string,
  read: readonly T[],
  limit: number,
): Page<T> {
  return pageBy(c, list, read, limit, (row) => row.id);
}

/** As `pageOf`, for rows whose place in the list `keyOf` tells. */
export function pageBy<T>(
  c: Context<AppEnv>,
  list: string,
  read: readonly T[],
  limit: number,
  keyOf: (row: T) => string,
): Page<T> {
  const rows = read.slice(0, limit);
  const last = rows.at(-1);
  if (read.length <= limit || last === undefined) return { rows, nextCursor: null };
  const nextCursor = encodeCursor(list, keyOf(last));
  const query = new URLSearchParams(c.req.query());
  query.set("cursor", nextCursor);
  c.header("Link", `<${c.req.path}?${query.toString()}>; rel="next"`);
  return { rows, nextCursor };
}
