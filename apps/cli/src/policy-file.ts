import { readFileSync } from "node:fs";
import { ask } from "./client.ts";
import { CliError } from "./exit.ts";

/** The text of a policy file, which goes to the server as it is, so that the server can name its lines. */
export function readPolicyFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError("usage", `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** As `ask` does, but a refusal of what the file says names the file. */
export async function askOfFile<R extends Pick<Response, "json" | "ok" | "status">>(file: string, request: Promise<R>) {
  try {
    return await ask(request);
  } catch (error) {
    if (!(error instanceof CliError) || !("errors" in error.details)) throw error;
    throw new CliError(error.exit, `${file}: ${error.message}`, error.details);
  }
}
