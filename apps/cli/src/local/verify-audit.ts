import { existsSync } from "node:fs";
import { join } from "node:path";
import { auditKeyFile, loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { auditHeadFile, readHeadFile } from "@countersign/broker/head-file.ts";
import { verifyAudit, type AuditReport } from "@countersign/broker/verify-audit.ts";
import { CliError } from "../exit.ts";
import { countOf } from "../show/count.ts";
import type { Cli } from "../verb.ts";
import { withLocalDatabase } from "./local-database.ts";

/** `countersign audit verify`: needs the worker's data folder, whose key seals the audit. Throws CliError where it is not sound. */
export async function verifyAuditHere(cli: Cli, otherHeads: string | undefined): Promise<void> {
  const { dataDir } = cli.config;
  if (!existsSync(join(dataDir, auditKeyFile))) {
    throw new CliError(
      "usage",
      `The key that seals the audit, ${join(dataDir, auditKeyFile)}, is not there. Run this where the worker runs, with COUNTERSIGN_DATA set to its folder.`,
    );
  }
  if (otherHeads !== undefined && !existsSync(otherHeads))
    throw new CliError("usage", `There is no file ${otherHeads} with heads.`);
  const key = await loadOrMakeAuditKey(dataDir);
  const files = [join(dataDir, auditHeadFile), ...(otherHeads === undefined ? [] : [otherHeads])];
  const read = await Promise.all(files.map(async (file) => ({ file, ...(await readHeadFile(file)) })));
  const heads = read.flatMap((one) => one.heads);
  const report = await withLocalDatabase(cli.config, (sql) => verifyAudit(sql, key, heads));
  const badLines = read.flatMap(({ file, badLines: lines }) => lines.map((line) => `${file}: line ${line} is no head`));

  if (cli.isJson) cli.printJson({ ...report, heads: heads.length, badLines });
  else cli.print([...badLines, ...showReport(report, heads.length, cli)]);
  if (!report.isSound || badLines.length > 0)
    throw new CliError("error", "The audit is not what was sealed.", { breaks: report.broken });
}

function showReport(report: AuditReport, heads: number, { terminal }: Cli): string[] {
  const { style } = terminal;
  const { sealed, unsealed, workspaces, broken, breaks } = report;
  const counted = `${countOf(sealed, "row")} sealed in ${countOf(workspaces, "chain")}, ${unsealed} not sealed yet, ${countOf(heads, "head")} of the file compared`;
  if (report.isSound) return [`${style.green("✔")} The audit is sound: ${counted}.`];
  return [
    ...breaks.map(
      ({ what, message, workspaceId }) => `${style.red("✘")} ${what}: ${message} (workspace ${workspaceId})`,
    ),
    `${counted}; ${broken} broken.`,
  ];
}
