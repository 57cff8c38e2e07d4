import { createHash } from "node:crypto";
import { once } from "node:events";
import { realpathSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CliError } from "../exit.ts";

/**
 * Takes a folder for this process alone, until `release` or the end of the process, however it ends: on Linux the name of
 * a socket that lives in no folder. Throws CliError `conflict` with the number of the process that has it.
 */
export async function lockFolder(folder: string): Promise<{ release(): void }> {
  const name = `countersign-${createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 32)}`;
  const isAbstract = process.platform === "linux";
  const address = isAbstract ? `\0${name}` : join(tmpdir(), `${name}.sock`);
  const server = createServer((asker) => asker.end(String(process.pid)));
  server.unref();
  if (!(await listen(server, address))) {
    const holder = await askHolder(address);
    if (holder !== undefined || isAbstract) throw taken(folder, holder);
    rmSync(address, { force: true });
    if (!(await listen(server, address))) throw taken(folder, undefined);
  }
  return { release: () => void server.close() };
}

async function listen(server: Server, address: string): Promise<boolean> {
  server.listen(address);
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  }
}

async function askHolder(address: string): Promise<string | undefined> {
  const socket = connect(address);
  socket.setTimeout(1_000, () => socket.destroy());
  try {
    return await text(socket);
  } catch {
    return undefined;
  }
}

function taken(folder: string, holder: string | undefined): CliError {
  const who = holder ? ` (process ${holder})` : "";
  return new CliError(
    "conflict",
    `Another ./countersign dev${who} works in ${folder}. Stop it with Ctrl-C, or give this one a folder of its own with COUNTERSIGN_DATA.`,
  );
}
