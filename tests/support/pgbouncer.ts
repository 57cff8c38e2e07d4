import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as openSocket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface PgBouncer {
  /** The database's address with the pooler in between. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Where the program is; undefined where it is not installed. */
export function findPgBouncer(): string | undefined {
  const found = spawnSync("sh", ["-c", "command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null"], {
    encoding: "utf8",
  });
  return found.stdout.split("\n")[0] || undefined;
}

/** Starts it in transaction mode before the database at `url`, with two connections to it for all. */
export async function startPgBouncer(program: string, url: string): Promise<PgBouncer> {
  const target = new URL(url);
  // Not in the repository's folder: it runs as a user who may not look into that.
  const folder = mkdtempSync(join(tmpdir(), "countersign-pgbouncer-"));
  const port = await freePort();
  const [user, password] = [decodeURIComponent(target.username), decodeURIComponent(target.password)];
  writeFileSync(join(folder, "users.txt"), `"${user}" "${password}"\n`);
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${target.hostname} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 300
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot)
    for (const name of ["", "users.txt", "pgbouncer.ini"]) chmodSync(join(folder, name), name === "" ? 0o755 : 0o644);
  // It refuses to run as root.
  const args = [...(isRoot ? ["-u", "nobody"] : []), join(folder, "pgbouncer.ini")];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => said.push(bytes.toString("utf8")));
  await untilListening(child, port, said);
  const through = new URL(url);
  through.host = `127.0.0.1:${port}`;
  return {
    url: through.href,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(child: ChildProcess, port: number, said: readonly string[]): Promise<void> {
  for (const deadline = performance.now() + 20_000; performance.now() < deadline; await delay(50)) {
    if (child.exitCode !== null) break;
    const socket = openSocket(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
  }
  throw new Error(`pgbouncer did not listen on port ${port}; it said:\n${said.join("")}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === "string") throw new Error("There is no free port");
  return address.port;
}
