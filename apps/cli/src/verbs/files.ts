import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, openAsBlob } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Command } from "commander";
import { ask, type Client, refusalOf } from "../client.ts";
import { CliError } from "../exit.ts";
import { findListedId, shortId } from "../find-id.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { countOf } from "../show/count.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";

/** `countersign files …` */
export function addFileVerbs(program: Command): void {
  const files = program.command("files").description("Files: content that people and agents stored");

  addVerb<{ page?: string; limit: number }>(files, {
    usage: "ls",
    isDefault: true,
    summary: "What is stored, newest first",
    options: (command) =>
      command
        .option("--page <id>", "the files of a page")
        .option("--limit <count>", "how many", wholeNumber(1, 200), 50),
    async run(cli, _args, { page, limit }) {
      const query = { limit, ...(page === undefined ? {} : { page }) };
      const found = await ask(cli.client.v1.files.$get({ query }));
      if (cli.isJson) return cli.printJson(found.files);
      if (found.files.length === 0) return cli.print(["No file is stored here."]);
      const { style, size } = cli.terminal;
      const rows = found.files.map((file) => [
        { text: shortId(file.id), paint: style.cyan },
        { text: makeVisible(file.name), paint: style.bold },
        { text: `${file.size} bytes`, paint: style.dim },
        { text: makeVisible(file.createdBy.name), paint: style.dim },
        { text: relativeTime(file.createdAt), paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns - 1));
    },
  });

  addVerb<{ name?: string; type?: string; page?: string }>(files, {
    usage: "put <path>",
    summary: "Store a file; storing the same one again changes nothing",
    options: (command) =>
      command
        .option("--name <name>", "what it is called; else the file's own name")
        .option("--type <type>", "its media type, such as image/png")
        .option("--page <id>", "the page that it belongs to"),
    async run(cli, [path = ""], { name = basename(path), type, page }) {
      const hash = await hashFile(path);
      const body = await openAsBlob(path);
      const query = { name, ...(page === undefined ? {} : { page }) };
      const headers = type === undefined ? {} : { headers: { "content-type": type } };
      const stored = await ask(
        cli.client.v1.uploads[":hash"].$put({ param: { hash }, query }, { ...headers, init: { body } }),
      );
      if (cli.isJson) return cli.printJson(stored);
      cli.print([
        `${cli.terminal.style.green("✔")} ${makeVisible(stored.name)} is stored as ${shortId(stored.id)}, ${stored.size} bytes.`,
        cli.terminal.style.dim(stored.handle),
      ]);
    },
  });

  addVerb(files, {
    usage: "get <file> <path>",
    summary: "Write the content of a file to a path that is not there yet, or to standard output for -",
    run: (cli, [given = "", path = ""]) => getFile(cli, given, path),
  });

  addVerb<{ page?: string }>(files, {
    usage: "rm <file>",
    summary: "Delete a file that nothing refers to: yours, or any as an administrator",
    options: (command) => command.option("--page <id>", "the page whose files to look through for a short id"),
    async run(cli, [given = ""], { page }) {
      const id = await findFileId(cli.client, given, page);
      const deleted = await ask(cli.client.v1.files[":id"].$delete({ param: { id } }));
      if (cli.isJson) return cli.printJson(deleted);
      const content = deleted.isContentGone
        ? "and so is its content"
        : "its content stays, since something else has it";
      cli.print([`${cli.terminal.style.green("✔")} ${shortId(id)} is deleted; ${content}.`]);
    },
  });

  addVerb(files, {
    usage: "space",
    summary: "How much is stored as files, and how much may be",
    async run(cli) {
      tellSpace(cli, await ask(cli.client.v1["file-space"].$get()));
    },
  });

  addVerb(files, {
    usage: "quota <megabytes>",
    summary: "Set how much the workspace may store as files, in megabytes of 1024 × 1024 bytes; none lifts the limit",
    async run(cli, [given = ""]) {
      const quotaBytes = given === "none" ? null : Number(given) * 1024 * 1024;
      if (quotaBytes !== null && (!/^\d+$/.test(given) || !Number.isSafeInteger(quotaBytes))) {
        throw new CliError("usage", `${JSON.stringify(given)} is no size; expected whole megabytes, or none.`);
      }
      tellSpace(cli, await ask(cli.client.v1["file-space"].$put({ json: { quotaBytes } })));
    },
  });
}

interface FileSpace {
  readonly fileCount: number;
  readonly usedBytes: number;
  readonly quotaBytes: number | null;
}

function tellSpace(cli: Cli, space: FileSpace): void {
  if (cli.isJson) return cli.printJson(space);
  const { fileCount, usedBytes, quotaBytes } = space;
  const files = `${countOf(fileCount, "file takes", "files take")} ${sizeOf(usedBytes)}`;
  cli.print([`${files}; ${quotaBytes === null ? "nothing limits them" : `at most ${sizeOf(quotaBytes)} may be`}.`]);
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return countOf(bytes, "byte");
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

async function getFile(cli: Cli, given: string, path: string): Promise<void> {
  const id = await findFileId(cli.client, given);
  const file = await ask(cli.client.v1.files[":id"].$get({ param: { id } }));
  const response = await cli.client.v1.files[":id"].content.$get({ param: { id } });
  if (!response.ok) throw refusalOf(response.status, await response.json().catch(() => undefined));
  const digest = createHash("sha256");
  const content = Readable.fromWeb((response.body ?? new Blob([]).stream()) as WebStream<Uint8Array>);
  content.on("data", (chunk: Uint8Array) => digest.update(chunk));
  const isOutput = path === "-";
  try {
    if (isOutput) await pipeline(content, process.stdout, { end: false });
    else await pipeline(content, createWriteStream(path, { flags: "wx" }));
  } catch (error) {
    if (isOutput && cli.terminal.gone.aborted) return;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "EEXIST") throw new CliError("conflict", `${path} is there already; nothing was written.`);
    if (!isOutput) await rm(path, { force: true });
    throw new CliError("error", `${file.name} did not arrive whole; nothing was kept.`, { error });
  }
  if (`sha256:${digest.digest("hex")}` !== file.handle) {
    if (!isOutput) await rm(path, { force: true });
    throw new CliError("error", `What arrived of ${file.name} is not what its hash says.`);
  }
  if (isOutput) return;
  if (cli.isJson) cli.printJson({ ...file, path });
  else cli.print([`${cli.terminal.style.green("✔")} ${path} has ${file.size} bytes.`]);
}

async function findFileId(client: Client, given: string, page?: string): Promise<string> {
  return await findListedId("file", given, async (asked) => {
    const query = { ...asked, ...(page === undefined ? {} : { page }) };
    const { files, nextCursor } = await ask(client.v1.files.$get({ query }));
    return { ids: files.map(({ id }) => id), nextCursor };
  });
}

async function hashFile(path: string): Promise<string> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new CliError("usage", `${path} is no file that can be read.`);
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}
