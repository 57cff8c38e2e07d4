import { explainOverQuota, findSpace } from "@countersign/ops/file-space.ts";
import { findNameProblem, readMediaType } from "@countersign/ops/files.ts";
import { storeUpload } from "@countersign/ops/store-upload.ts";
import type { StoredFile } from "@countersign/ops/files.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { invalidField, Problem } from "./problem.ts";

/** What may be uploaded unless the configuration says otherwise, in bytes. */
export const usualMostFileBytes = 64 * 1024 * 1024;

/** What a request sends to be stored. */
export interface Upload {
  readonly workspaceId: string;
  readonly userId: string;
  readonly hash: string;
  readonly name: string;
  readonly pageId: string | undefined;
  readonly mediaType: string | undefined;
  /** What the request says of its length. */
  readonly contentLength: string | undefined;
  readonly body: ReadableStream<Uint8Array> | null;
}

/**
 * Stores what is uploaded; when it returns, the file is there and its content is what was announced. Refuses what is too
 * large or has no room in the workspace's quota, from its announced length on, and what turns out to be something else;
 * then nothing is stored.
 */
export async function upload(sql: Sql, asked: Upload, mostBytes: number): Promise<StoredFile> {
  const { workspaceId, userId, hash, name, pageId, contentLength, body } = asked;
  const problem = findNameProblem(name);
  if (problem !== undefined) throw invalidField("query.name", problem);
  const mediaType = readMediaType(asked.mediaType ?? "application/octet-stream");
  if (mediaType === undefined) throw invalidField("header.content-type", "is no media type; leave it out, or send one");
  if (contentLength !== undefined && Number(contentLength) > mostBytes) throw tooLarge(mostBytes);

  if (contentLength !== undefined) {
    const size = Number(contentLength);
    const space = await findSpace(sql, workspaceId, { hash, size });
    if (space.kind === "over_quota") throw new Problem("quota_exceeded", explainOverQuota(size, space));
  }

  const file = { workspaceId, hash, name, mediaType, createdBy: `user:${userId}`, pageId };
  const result = await storeUpload(sql, file, body ?? nothing(), mostBytes);
  switch (result.kind) {
    case "stored":
      return result.file;
    case "too_large":
      throw tooLarge(mostBytes);
    case "over_quota":
      throw new Problem("quota_exceeded", explainOverQuota(result.size, result));
    case "mismatch":
      throw new Problem(
        "content_mismatch",
        `The ${result.size} bytes that arrived have the sha256 ${result.hash}, and not ${hash}. Nothing was stored; send the content that you announced.`,
      );
  }
}

function tooLarge(mostBytes: number): Problem {
  return new Problem("too_large", `A file has at most ${mostBytes} bytes here. Nothing was stored.`);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
