import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Client, createClient } from "./client.ts";
import type { CliConfig } from "./config.ts";
import { CliError } from "./exit.ts";

/** Name, in the data folder, of the file in which `dev` leaves where its server is and a token for it. */
export const connectionFile = "connection.json";

export const connectionSchema = z.object({ url: z.url({ protocol: /^https?$/ }), token: z.string().min(1) });

export type Connection = z.infer<typeof connectionSchema>;

/** The server to talk to: of the environment, else the one that `dev` started. Throws CliError where there is none. */
export function connectToServer(config: CliConfig): Client {
  const { url, token } = config;
  if (url === undefined && token === undefined) {
    const left = readConnection(config.dataDir);
    return createClient(left.url, left.token);
  }
  if (url === undefined || token === undefined) {
    const missing = url === undefined ? "COUNTERSIGN_URL" : "COUNTERSIGN_TOKEN";
    throw new CliError("usage", `${missing} is not set. Set COUNTERSIGN_URL and COUNTERSIGN_TOKEN both, or neither.`);
  }
  const parsed = connectionSchema.safeParse({ url, token });
  if (!parsed.success)
    throw new CliError("usage", `COUNTERSIGN_URL is ${JSON.stringify(url)}; expected http://host:port.`);
  return createClient(parsed.data.url, parsed.data.token);
}

function readConnection(dataDir: string): Connection {
  const path = join(dataDir, connectionFile);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new CliError(
      "usage",
      [
        `Which server? ./countersign dev was not started with ${dataDir}, and COUNTERSIGN_URL is not set. One of these:`,
        "  run ./countersign dev, which starts everything on this machine;",
        "  set COUNTERSIGN_URL and COUNTERSIGN_TOKEN to a server that runs elsewhere or that ./countersign serve started;",
        "  set COUNTERSIGN_DATA to the folder of a ./countersign dev that runs in another terminal;",
        "  for a new database of your own: ./countersign migrate, then ./countersign init, which makes the first token.",
      ].join("\n"),
    );
  }
  try {
    return connectionSchema.parse(JSON.parse(text));
  } catch {
    throw new CliError(
      "error",
      `${path} does not say where the server is. Start ./countersign dev, which writes it anew.`,
    );
  }
}
