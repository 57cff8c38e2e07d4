import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "@countersign/db/connect.ts";
import { createToken } from "@countersign/server/tokens.ts";
import type { Contestant, Opened } from "./contestant.ts";
import { openObserver } from "./observer.ts";
import { findAgent, observeRuns, prepareOurs, startOwnWorker } from "./ours.ts";

const serverMain = join(import.meta.dirname, "../../server/src/main.ts");

/** The same as a team has it: runs are started and decided over HTTP, at a server in a process of its own. */
export function createOursOverHttp(environment: NodeJS.ProcessEnv): Contestant {
  return {
    name: "Countersign over HTTP",
    settings: () => [{}],
    prepare: prepareOurs,
    async open(url, _setting, onEffect): Promise<Opened> {
      const sql = await openObserver(url);
      const api = await openApi(url, environment);
      const worker = startOwnWorker(url, onEffect);
      return {
        async start() {
          const run = await api.post<{ id: string }>("/v1/runs", { definition: "bench", input: "please" });
          return run.id;
        },
        async observe(undecided, decided) {
          const { pending, ended } = await observeRuns(sql, undecided, decided);
          const waiting = pending.map(({ id, run_id, args_hash }) => ({
            id: run_id,
            decide: async () =>
              await api.post(
                `/v1/approvals/${id}/decision`,
                { answer: "approve", argsDigest: args_hash },
                { "if-match": '"1"' },
              ),
          }));
          return { waiting, ended };
        },
        async close() {
          await worker.stop();
          await api.stop();
          await sql.end();
        },
      };
    },
  };
}

export interface Api {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object, headers?: Record<string, string>): Promise<T>;
  stop(): Promise<void>;
}

/** Starts a server for the database, with a token of the agent's user, and no limit of requests that one would notice. */
export async function openApi(url: string, environment: NodeJS.ProcessEnv): Promise<Api> {
  const sql = connect(url, { max: 1 });
  const agent = await findAgent(sql);
  const { token } = await createToken(sql, { ...agent, label: "bench", mayDecide: true });
  await sql.end();
  const server = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", serverMain], {
    env: { ...environment, DATABASE_URL: url, PORT: "0", RATE_PER_SECOND: "1000000", RATE_BURST: "1000000" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const base = await addressIn(server.stdout);
  server.stdout.resume();

  async function send<T>(method: string, path: string, headers: Record<string, string>, body?: object): Promise<T> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  return {
    get: async (path) => await send("GET", path, {}),
    post: async (path, body, headers = {}) => await send("POST", path, headers, body),
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    },
  };
}

/** The server says where it listens in one of its first lines. */
async function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface(output);
  for await (const line of lines) {
    const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
    if (msg === "listening" && url !== undefined) return url;
  }
  throw new Error("The server ended before it listened");
}
