import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { type AuditHead, signHeads } from "../audit-heads.ts";
import { makeAuditJwk, parseAuditKey } from "../audit-key.ts";
import { checkAudit } from "../check-audit.ts";
import { sealAudit } from "../seal-audit.ts";

/** What a worker does for the audit, a step at a time, with a key that is in no folder. */
export interface AuditKeeper {
  /** Afterwards every row is sealed. Another transaction of this server, in whatever database, holds it up while it lasts. */
  seal(): Promise<void>;
  /** The heads of the chains that have grown since the last ones were signed. */
  sign(): Promise<AuditHead[]>;
  /** Makes a check that somebody asked for, with these heads kept outside the database; answers whether there was one. */
  check(heads: readonly AuditHead[]): Promise<boolean>;
}

export function givenAuditKeeper(sql: Sql): AuditKeeper {
  const { key } = parseAuditKey(makeAuditJwk(), "a test key");
  return {
    async seal() {
      for (;;) {
        await sealAudit(sql, key);
        const [left] = await sql<{ n: number }[]>`
          select count(*)::int as n from audit a join audit_progress p on (a.xid, a.id) > (p.xid, p.id)`;
        if (left?.n === 0) return;
        await pause(5);
      }
    },
    sign: () => signHeads(sql, key),
    check: (heads) => checkAudit(sql, key, () => Promise.resolve({ heads, badLines: [] })),
  };
}
