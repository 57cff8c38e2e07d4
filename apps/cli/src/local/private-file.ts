import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { z } from "zod";

/** Afterwards the file holds `value` as JSON, whole, and only its owner may read it. */
export function writePrivate(path: string, value: unknown): void {
  const draft = `${path}.${randomUUID().slice(0, 8)}`;
  writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** What `writePrivate` left; undefined where there is no such file, or it is not what is expected. */
export function readPrivate<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}
