import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answers } from "./answers.ts";
import { serverBinaries, type ServerBinaries } from "./embedded-binaries.ts";
import { EmbeddedRefusal } from "./embedded-refusal.ts";
import { giveToServerUser, runAsServerUser } from "./embedded-user.ts";

export type EmbeddedOptions = {
  /** Where the cluster lives; made on the first start, kept for the next. */
  dataDir: string;
  log?: (line: string) => void;
  /** False gives up durability for speed; for tests only. */
  durable?: boolean;
};

export type EmbeddedPostgres = {
  url: string;
  /** When this server came up, which for a reused one was before. */
  startedAt: Date;
  /** True where a server of an earlier process was still running and is used on. */
  reused: boolean;
  /** Ends the server in good order; its data stay. */
  stop: () => Promise<void>;
};

const user = "countersign";
const deadlineMs = 60_000;

/**
 * A PostgreSQL server of the project's own on 127.0.0.1, at the port it had before where that is free, with its data in
 * `dataDir`. When the promise resolves it answers; it lives on when this process is interrupted or killed, until
 * `stop()`, and the next start finds and uses it. Rejects with EmbeddedRefusal where the
 * platform has no binaries or the server does not come up.
 */
export async function startEmbedded({
  dataDir,
  log = () => {},
  durable = true,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const cluster = clusterIn(dataDir);
  mkdirSync(cluster.home, { recursive: true, mode: 0o700 });
  if (!existsSync(cluster.dir)) {
    log(`Preparing a PostgreSQL cluster in ${cluster.home}`);
    await initialize(cluster);
  }
  const { port, startedAt, reused } = await findOrStart(cluster, durable);
  log(`PostgreSQL ${reused ? "still runs" : "runs"} on 127.0.0.1:${port}, data in ${cluster.home}`);
  const password = readFileSync(cluster.passwordFile, "utf8");
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`,
    startedAt,
    reused,
    stop: () => stopEmbedded(dataDir),
  };
}

async function findOrStart(cluster: Cluster, durable: boolean) {
  for (const since = performance.now(); performance.now() - since < deadlineMs; await sleep(50)) {
    const reused = runningPid(cluster) !== undefined || !(await start(cluster, durable));
    const { port, startedAt } = await whenReady(cluster);
    if (await answers(port)) return { port, startedAt, reused };
  }
  throw new EmbeddedRefusal(
    "start_failed",
    `PostgreSQL in ${cluster.home} runs but takes no connections; see ${cluster.logFile}`,
  );
}

/**
 * The shell command with which a person opens the server of this folder, at the port where it runs; the password is in
 * none of its words.
 */
export function psqlCommand(dataDir: string, port: number): string {
  const file = join(resolve(dataDir), "cluster", "password").replaceAll("'", "'\\''");
  return `PGPASSWORD="$(cat '${file}')" psql -h 127.0.0.1 -p ${port} -U ${user} postgres`;
}

/** Stops the server of this folder in good order; nothing happens where none runs. */
export async function stopEmbedded(dataDir: string): Promise<void> {
  const cluster = clusterIn(dataDir);
  const pid = runningPid(cluster);
  if (pid === undefined) return;
  // What `pg_ctl -m fast stop` sends; by ourselves, since root in a namespace may not signal another user's server.
  process.kill(pid, "SIGINT");
  for (const start = performance.now(); performance.now() - start < deadlineMs; await sleep(20)) {
    if (!isServerProcess(cluster, pid)) return;
  }
  throw new EmbeddedRefusal(
    "stop_failed",
    `PostgreSQL in ${cluster.home} (process ${pid}) did not stop within ${deadlineMs / 1000} seconds; see ${cluster.logFile}`,
  );
}

type Cluster = {
  binaries: ServerBinaries;
  home: string;
  dir: string;
  data: string;
  passwordFile: string;
  logFile: string;
};

function clusterIn(dataDir: string): Cluster {
  const home = resolve(dataDir);
  const dir = join(home, "cluster");
  return {
    binaries: serverBinaries(),
    home,
    dir,
    data: join(dir, "data"),
    passwordFile: join(dir, "password"),
    logFile: join(home, "postgres.log"),
  };
}

/** Makes the cluster aside and puts it in place whole: one that was interrupted, or lost the race with another, never counts. */
async function initialize(cluster: Cluster): Promise<void> {
  const aside = join(cluster.home, `new-${process.pid}-${randomBytes(4).toString("hex")}`);
  mkdirSync(aside, { mode: 0o700 });
  try {
    const passwordFile = join(aside, "password");
    writeFileSync(passwordFile, randomBytes(24).toString("hex"), { mode: 0o600 });
    giveToServerUser(cluster.home);
    giveToServerUser(aside);
    const made = await runAsServerUser(cluster.binaries.initdb, [
      `--pgdata=${join(aside, "data")}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--no-instructions",
    ]);
    if (made.code !== 0) throw new EmbeddedRefusal("initdb_failed", `initdb in ${cluster.home} failed: ${made.output}`);
    try {
      renameSync(aside, cluster.dir);
    } catch (error) {
      if (!existsSync(cluster.dir)) throw error;
    }
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** True where this call started the server, false where another process was faster. */
async function start(cluster: Cluster, durable: boolean): Promise<boolean> {
  giveToServerUser(cluster.home);
  giveToServerUser(cluster.dir);
  let output = "";
  // Again, since the port may be taken meanwhile, and a killed server's children hold its memory for a moment.
  for (let attempt = 1; attempt <= 6; attempt++) {
    await removeForeignPidFile(cluster, attempt > 3);
    const options = serverOptions(cluster, await freePort(portOfLastStart(cluster)), durable);
    const started = await runAsServerUser(cluster.binaries.pgCtl, [
      "-D",
      cluster.data,
      "-w",
      "-t",
      "60",
      "-s",
      "-l",
      cluster.logFile,
      "-o",
      options,
      "start",
    ]);
    if (started.code === 0) return true;
    if (runningPid(cluster) !== undefined) return false;
    output = started.output;
    await sleep(200 * attempt);
  }
  const tail = existsSync(cluster.logFile)
    ? readFileSync(cluster.logFile, "utf8").split("\n").slice(-12).join("\n")
    : output;
  throw new EmbeddedRefusal(
    "start_failed",
    `PostgreSQL in ${cluster.home} did not start. The end of ${cluster.logFile}:\n${tail}`,
  );
}

function serverOptions(cluster: Cluster, port: number, durable: boolean): string {
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    "max_connections=200",
    ...(cluster.binaries.hasStatStatements ? ["shared_preload_libraries=pg_stat_statements"] : []),
    ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]),
  ];
  return settings.map((setting) => `-c ${setting}`).join(" ");
}

/**
 * The server's process, where one runs here. Not by `pg_ctl status`: it believes any live process under the number in
 * the file, which after a crash may be somebody else's.
 */
function runningPid(cluster: Cluster): number | undefined {
  const pid = readPidFile(cluster)?.pid;
  return isServerProcess(cluster, pid) ? pid : undefined;
}

/**
 * An empty one is being written by a server that starts just now, unless it stays so. While a killed server's children
 * live, which may be at its log still, the file stays: it is what keeps a second server from their data.
 */
async function removeForeignPidFile(cluster: Cluster, mayBeEmpty: boolean): Promise<void> {
  for (const since = performance.now(); ; await sleep(50)) {
    const pid = readPidFile(cluster)?.pid;
    if (pid === undefined || isServerProcess(cluster, pid)) return;
    if (pid === 0 && !mayBeEmpty) return;
    const left = processesIn(cluster);
    if (left.length === 0) return rmSync(pidFile(cluster), { force: true });
    if (performance.now() - since > deadlineMs) {
      throw new EmbeddedRefusal(
        "start_failed",
        `A PostgreSQL server in ${cluster.home} was killed, and its processes ${left.join(", ")} still run after ${deadlineMs / 1000} seconds. End them, then start again.`,
      );
    }
  }
}

/** Every process of a server of this cluster, whoever is its parent by now. */
function processesIn(cluster: Cluster): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // Children say what they do in place of the program: `postgres: checkpointer`.
        const isPostgres = /^postgres:|(^|\/)postgres\0/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
        return isPostgres && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster.data);
      } catch {
        return false; // It is over, or another user's.
      }
    });
}

function isServerProcess(cluster: Cluster, pid: number | undefined): boolean {
  try {
    const program = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0];
    // The server works in its data folder.
    return program?.endsWith("postgres") === true && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster.data);
  } catch (error) {
    // One of another user may not be looked at: better not to touch its files. Otherwise there is no such process.
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}

const pidFile = (cluster: Cluster) => join(cluster.data, "postmaster.pid");

/** Lines of postmaster.pid: 1 process, 3 start in seconds, 4 port, 8 state. */
function readPidFile(cluster: Cluster) {
  if (!existsSync(pidFile(cluster))) return undefined;
  const lines = readFileSync(pidFile(cluster), "utf8").split("\n");
  return {
    pid: Number(lines[0]),
    startedAt: new Date(Number(lines[2]) * 1000),
    port: Number(lines[3]),
    isReady: lines[7]?.trim() === "ready",
  };
}

async function whenReady(cluster: Cluster) {
  for (const start = performance.now(); performance.now() - start < deadlineMs; await sleep(50)) {
    const noted = readPidFile(cluster);
    if (noted?.isReady === true) return noted;
  }
  throw new EmbeddedRefusal(
    "start_failed",
    `PostgreSQL in ${cluster.home} runs but is not ready; see ${cluster.logFile}`,
  );
}

/** Where whoever connected before looks for it. The server's own note of its command line outlives it. */
function portOfLastStart(cluster: Cluster): number | undefined {
  const file = join(cluster.data, "postmaster.opts");
  const port = existsSync(file) ? /"port=(\d+)"/.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return port === undefined ? undefined : Number(port);
}

/** `wanted` where nobody has it, else another. */
async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  const isFree = await new Promise<boolean>((done) => {
    server.once("error", () => done(false)).listen(wanted, "127.0.0.1", () => done(true));
  });
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (!isFree && wanted !== 0) return await freePort();
  if (address === null || typeof address === "string") throw new Error("The system gave no free port on 127.0.0.1");
  return address.port;
}
