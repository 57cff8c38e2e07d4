import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { type Asker, visibleFiles } from "./visible.ts";

/** A name that somebody gave to stored content. */
export interface StoredFile {
  readonly id: string;
  /** The sha256 of the content, 64 hexadecimal digits. */
  readonly hash: string;
  readonly name: string;
  readonly mediaType: string;
  /** In bytes. */
  readonly size: number;
  /** The page it belongs to; null where it belongs to none. */
  readonly pageId: string | null;
  readonly runId: string | null;
  /** `user:<id>` or `run:<id>`. */
  readonly createdBy: string;
  readonly createdAt: Date;
}

export interface NewFile {
  readonly workspaceId: string;
  readonly hash: string;
  readonly name: string;
  readonly mediaType: string;
  readonly createdBy: string;
  readonly pageId?: string | undefined;
  readonly runId?: string | undefined;
}

const columns = `id, hash, name, media_type as "mediaType", size, page_id as "pageId", run_id as "runId",
       created_by as "createdBy", created_at as "createdAt"`;

/**
 * Names content that is in the workspace's store. The same content under the same name at the same place is one file of
 * whoever brings it, with the media type told last. Undefined where the store does not hold it.
 */
export async function putFile(db: Queryable, file: NewFile): Promise<StoredFile | undefined> {
  const { workspaceId, hash, name, mediaType, createdBy, pageId = null, runId = null } = file;
  const [row] = await db.unsafe<StoredFile[]>(
    `insert into files (id, workspace_id, hash, name, media_type, size, page_id, run_id, created_by)
     select $1::uuid, workspace_id, hash, $4, $5, size, $6::uuid, $7::uuid, $8
       from blobs where workspace_id = $2::uuid and hash = $3
     on conflict (workspace_id, hash, name, created_by, page_id) do update set media_type = excluded.media_type
     returning ${columns}`,
    [newId(), workspaceId, hash, name, mediaType, pageId, runId, createdBy],
    { prepare: true },
  );
  return row;
}

/** One file, whoever may see it; undefined where the workspace has none of this id. */
export async function readFile(db: Queryable, workspaceId: string, id: string): Promise<StoredFile | undefined> {
  const [row] = await db.unsafe<StoredFile[]>(
    `select ${columns} from files where workspace_id = $1::uuid and id = $2::uuid`,
    [workspaceId, id],
    { prepare: true },
  );
  return row;
}

/** One file; undefined where there is none of this id that the asker may see, by its page. */
export async function readVisibleFile(
  db: Queryable,
  { workspaceId, userId }: Asker,
  id: string,
): Promise<StoredFile | undefined> {
  const [row] = await db.unsafe<StoredFile[]>(
    `select ${columns} from ${visibleFiles} f where id = $3::uuid`,
    [workspaceId, userId, id],
    { prepare: true },
  );
  return row;
}

/** The files of a page, or those of none, that the asker may see, newest first; one more than `limit` where the list goes on. */
export async function listFiles(
  db: Queryable,
  asked: Asker & {
    readonly pageId?: string | undefined;
    /** The list goes on after this file. */
    readonly cursorId?: string | undefined;
    readonly limit: number;
  },
): Promise<StoredFile[]> {
  const { workspaceId, userId, pageId, cursorId = "ffffffff-ffff-ffff-ffff-ffffffffffff", limit } = asked;
  const [place, ...places] = pageId === undefined ? ["page_id is null"] : ["page_id = $5::uuid", pageId];
  return await db.unsafe<StoredFile[]>(
    `select ${columns} from ${visibleFiles} f
      where ${place} and id < $3::uuid order by id desc limit $4::int + 1`,
    [workspaceId, userId, cursorId, limit, ...places],
    { prepare: true },
  );
}

/** Says why a file cannot be called so; undefined where it can. A name is no path, and shows all that it holds. */
export function findNameProblem(name: string): string | undefined {
  if (name.trim() === "") return "it is blank";
  if (name.length > 200) return `it has ${name.length} characters; a name has at most 200`;
  if (!name.isWellFormed()) return "it holds half of a surrogate pair";
  if (/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(name)) return "it holds control or invisible characters";
  if (/[/\\]/.test(name) || name === "." || name === "..") return "it is a path; give the name alone";
  return undefined;
}

/** The media type as it is kept, in lower case; undefined for what is none. */
export function readMediaType(given: string): string | undefined {
  const type = given.trim().toLowerCase();
  const token = "[a-z0-9!#$&^_.+-]{1,60}";
  return new RegExp(`^${token}/${token}(?:; ?[a-z0-9_-]{1,30}="?[a-z0-9_.:+-]{1,60}"?)?$`).test(type)
    ? type
    : undefined;
}
