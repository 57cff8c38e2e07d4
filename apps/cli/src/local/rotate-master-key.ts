import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadKeyring, privateKeyFile, removeEarlierKey, replaceKey } from "@countersign/broker/keyring.ts";
import { resealSecrets, retireKey, type UnsealedVersion } from "@countersign/broker/rotate-keys.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { CliError } from "../exit.ts";
import type { Cli } from "../verb.ts";
import { withLocalDatabase } from "./local-database.ts";

interface Rotation {
  readonly keyId: string;
  readonly resealed: number;
  /** Keys to which nothing is sealed any more; their files are gone. */
  readonly retired: readonly string[];
  /** Keys that something is, or may just be, sealed to. */
  readonly kept: readonly string[];
  readonly unreadable: readonly UnsealedVersion[];
}

/**
 * `countersign secrets rotate`: afterwards every secret lies under a new master key, and the keys before it are destroyed
 * as far as nothing lies under them. Broken off it is run again; workers go on meanwhile. Throws CliError where a version
 * could not be moved.
 */
export async function rotateMasterKey(cli: Cli): Promise<void> {
  const { dataDir } = cli.config;
  if (!existsSync(join(dataDir, privateKeyFile))) {
    throw new CliError(
      "usage",
      `There is no master key in ${dataDir}. Run this where the worker runs, with COUNTERSIGN_DATA set to its folder.`,
    );
  }
  const rotation = await withLocalDatabase(cli.config, (sql) => rotate(sql, dataDir));
  const { keyId, resealed, retired, kept, unreadable } = rotation;
  if (cli.isJson) cli.printJson(rotation);
  else {
    cli.print([
      `${cli.terminal.style.green("✔")} The master key is ${keyId} now; ${resealed} versions of secrets were sealed to it.`,
      ...retired.map((id) => `  ${id} is retired and destroyed.`),
      ...kept.map((id) => `  ${id} is kept: it was never retired, or something is still sealed to it.`),
      ...unreadable.map(
        ({ name, version, workspaceId, code }) =>
          `  ${name}, version ${version}, of workspace ${workspaceId} stays as it is (${code}); set it again or delete it.`,
      ),
    ]);
  }
  if (unreadable.length > 0)
    throw new CliError(
      "error",
      `${unreadable.length} versions could not be moved to the new key; run it again once they are set anew.`,
    );
}

async function rotate(sql: Sql, dataDir: string): Promise<Rotation> {
  const { publicKey } = await replaceKey(dataDir);
  const { keyring } = await loadKeyring(dataDir);
  const { resealed, unreadable } = await resealSecrets(sql, keyring, publicKey);
  const retired: string[] = [];
  const kept: string[] = [];
  for (const keyId of keyring.keys()) {
    if (keyId === publicKey.keyId) continue;
    const { kind } = await retireKey(sql, keyId);
    // Of a key that the database has not heard of, a server may be sealing a first secret to it right now.
    if (kind === "in_use" || kind === "not_found") {
      kept.push(keyId);
      continue;
    }
    await removeEarlierKey(dataDir, keyId);
    retired.push(keyId);
  }
  return { keyId: publicKey.keyId, resealed, retired, kept, unreadable };
}
