import { join } from "node:path";
import { signHeads } from "@countersign/broker/audit-heads.ts";
import type { AuditKey } from "@countersign/broker/audit-key.ts";
import { checkAudit } from "@countersign/broker/check-audit.ts";
import { appendHeads, auditHeadFile, readHeadFile } from "@countersign/broker/head-file.ts";
import { pruneVersions } from "@countersign/broker/prune-versions.ts";
import { sealAudit } from "@countersign/broker/seal-audit.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { repeat, type Repeated } from "./repeat.ts";

export interface KeepAuditOptions {
  readonly sql: Sql;
  readonly key: AuditKey;
  readonly dataDir: string;
  /** Told what failed; the next turn comes by itself. */
  readonly onFailure: (what: string, error: unknown) => void;
  readonly sealMs?: number;
  readonly headMs?: number;
  readonly checkMs?: number;
  readonly pruneMs?: number;
}

/**
 * Seals the audit's rows into their chains within a second or so, signs the heads each minute and adds them to the data
 * folder's file, checks what an administrator asks to have checked, and daily drops sealed values that nobody needs any
 * more. Any number of workers may do so at once.
 */
export function keepAudit(options: KeepAuditOptions): Repeated {
  const { sql, key, dataDir, onFailure } = options;
  const { sealMs = 1_000, headMs = 60_000, checkMs = 2_000, pruneMs = 86_400_000 } = options;
  const headFile = join(dataDir, auditHeadFile);
  const parts = [
    repeat(
      sealMs,
      async () => {
        const sealed = await sealAudit(sql, key);
        return sealed.kind === "sealed" && sealed.hasMore ? "again" : "later";
      },
      (error) => onFailure("sealing the audit", error),
    ),
    repeat(
      headMs,
      async () => {
        const heads = await signHeads(sql, key, (_workspaceId, error) => onFailure("signing a chain's head", error));
        await appendHeads(headFile, heads);
        return "later";
      },
      (error) => onFailure("signing the audit's heads", error),
    ),
    repeat(
      checkMs,
      async () => ((await checkAudit(sql, key, () => readHeadFile(headFile))) ? "again" : "later"),
      (error) => onFailure("checking the audit", error),
    ),
    repeat(
      pruneMs,
      async () => {
        await pruneVersions(sql);
        return "later";
      },
      (error) => onFailure("dropping old versions of secrets", error),
    ),
  ];
  return {
    async stop() {
      await Promise.all(parts.map((part) => part.stop()));
    },
  };
}
