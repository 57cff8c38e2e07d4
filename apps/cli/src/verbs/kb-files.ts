import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { CliError, exitCodes } from "../exit.ts";
import { exportFiles, type ExportReport } from "../local/export-files.ts";
import { cloneRepository, commitFiles, findOdd, pushCommits } from "../local/git.ts";
import { importFiles, type ImportReport } from "../local/import-files.ts";
import type { Style } from "../terminal/style.ts";
import { makeVisible, visibleLines } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";

interface GitOptions {
  readonly git?: boolean;
  readonly branch?: string;
  readonly dir: string;
}

/** `countersign kb import` and `export`: pages as files of a folder or a Git repository. */
export function addPageFileVerbs(kb: Command): void {
  addVerb<GitOptions>(kb, {
    usage: "import <folder>",
    summary: "Import a folder of Markdown files; again, what changed in them since is merged into their pages",
    options: (command) =>
      withGit(command, "below which directory the pages go").option(
        "--git",
        "<folder> is the address of a Git repository, whose newest state is imported",
      ),
    async run(cli, [source = ""], { git, branch, dir }) {
      const tell = (done: number, all: number): void => {
        if (!cli.isJson && cli.terminal.isInteractive) process.stderr.write(`\r${done} of ${all} files`);
      };
      const { report, error } = await (git === true
        ? withClone(source, branch, async (folder) => importFiles(cli.client, folder, dir, tell, await findOdd(folder)))
        : importFiles(cli.client, source, dir, tell));
      if (!cli.isJson && cli.terminal.isInteractive) process.stderr.write("\r");
      if (cli.isJson) cli.printJson(report);
      else tellReport(cli, report);
      if (error !== undefined) throw error;
      if (report.counts.conflict > 0) process.exitCode = exitCodes.conflict;
    },
  });

  addVerb<GitOptions & { message: string }>(kb, {
    usage: "export <folder>",
    summary: "Write the pages that you may read as Markdown files",
    options: (command) =>
      withGit(command, "only the pages of this directory and below")
        .option("--git", "<folder> is the address of a Git repository, to which the pages go as a commit")
        .option("--message <text>", "what the commit says", "Pages of the knowledge base"),
    async run(cli, [target = ""], { git, branch, dir, message }) {
      const { style } = cli.terminal;
      if (git !== true) {
        const report = await exportFiles(cli.client, target, dir);
        requirePages(report, dir);
        const { written, notWritten } = report;
        tellNotWritten(cli, report);
        if (cli.isJson) return cli.printJson({ files: written.length, notWritten });
        return cli.print([
          `${mark(style, report)} ${filesAre(written.length)} written to ${makeVisible(target)}${otherwise(report)}.`,
        ]);
      }
      const { report, changed } = await withClone(target, branch, async (folder) => {
        const exported = await exportFiles(cli.client, folder, dir, (await findOdd(folder)).links);
        requirePages(exported, dir);
        tellNotWritten(cli, exported);
        const count =
          exported.written.length === 0 ? 0 : await commitFiles(folder, exported.written, exported.notedIn, message);
        if (count > 0) await pushCommits(folder);
        return { report: exported, changed: count };
      });
      const { written, notWritten } = report;
      if (cli.isJson) return cli.printJson({ files: written.length, changed, isCommitted: changed > 0, notWritten });
      const same = written.length - changed;
      const where = makeVisible(target);
      const went = `${changed} ${changed === 1 ? "file" : "files"} went as a commit to ${where}`;
      const what = changed === 0 ? `${filesAre(same)} the same already in ${where}` : went;
      const rest = changed === 0 || same === 0 ? "" : `; ${filesAre(same)} the same already`;
      cli.print([`${mark(style, report)} ${what}${rest}${otherwise(report)}.`]);
    },
  });
}

function filesAre(count: number): string {
  return count === 1 ? "1 file is" : `${count} files are`;
}

function mark(style: Style, { notWritten }: ExportReport): string {
  return notWritten.length === 0 ? style.green("✔") : style.red("✘");
}

function otherwise({ notWritten }: ExportReport): string {
  return notWritten.length === 0 ? "" : `; ${filesAre(notWritten.length)} not written, as said above`;
}

/** Names the pages that are not in the files, without which the export is not what was asked for. */
function tellNotWritten(cli: Cli, { notWritten }: ExportReport): void {
  if (notWritten.length === 0) return;
  process.exitCode = exitCodes.error;
  if (cli.isJson) return;
  cli.print(
    notWritten.map(({ path, reason }) =>
      cli.terminal.style.red(`not written  ${makeVisible(path)}: ${makeVisible(reason)}`),
    ),
  );
}

function withGit(command: Command, what: string): Command {
  return command
    .option("--dir <directory>", what, "")
    .option("--branch <name>", "of the Git repository; its own unless given");
}

async function withClone<R>(
  address: string,
  branch: string | undefined,
  body: (folder: string) => Promise<R>,
): Promise<R> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-git-"));
  try {
    await cloneRepository(address, folder, branch);
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A directory that was misspelt must not look like a knowledge base that was taken elsewhere. */
function requirePages({ written, notWritten }: ExportReport, dir: string): void {
  if (written.length + notWritten.length > 0) return;
  const where = dir === "" ? "the knowledge base" : `the directory ${JSON.stringify(dir)}`;
  const what =
    dir === "" ? "" : " Without --dir all pages are written; ./countersign kb search <words> shows where pages lie.";
  throw new CliError("error", `There is no page in ${where} that you may read, so nothing was written.${what}`);
}

function tellReport(cli: Cli, { counts, nodeCount, notes, conflicts, others, unsent }: ImportReport): void {
  const { style } = cli.terminal;
  for (const { path, outcome, note } of notes) {
    const line = `${makeVisible(path)}: ${makeVisible(note)}`;
    cli.print([outcome === "skipped" || outcome === "conflict" ? style.red(`${outcome}  ${line}`) : style.dim(line)]);
  }
  for (const { path, pageId, clashes } of conflicts) {
    cli.print([
      ...clashes.flatMap((clash) => [
        `  ${style.dim("the page has")} ${sideText(clash.page)}`,
        `  ${style.dim("the file has")} ${sideText(clash.file)}`,
      ]),
      `  Let both say the same: see the page with ./countersign kb read ${pageId}, change ${makeVisible(path)} or the page, then import again.`,
    ]);
  }
  const { imported, updated, unchanged, conflict, skipped } = counts;
  cli.print([
    `${imported} pages new, ${updated} changed, ${unchanged} as they were, with ${nodeCount} nodes; ${conflict} in conflict, ${skipped + others.length} left out.`,
    ...(unsent === 0
      ? []
      : [style.red(`It ended early, and of ${unsent} files nothing is known. Importing again goes on from there.`)]),
    ...(others.length === 0 ? [] : [style.dim(`Not Markdown, hidden or a link: ${listed(others)}`)]),
  ]);
}

function sideText(text: string | null): string {
  return text === null ? "(removed)" : visibleLines(text.replaceAll(/\s*\n\s*/g, "\n")).join(" ⏎ ");
}

/** How many of the files that were left out are named. */
const mostNamed = 10;

function listed(paths: readonly string[]): string {
  const more = paths.length - mostNamed;
  return `${paths.slice(0, mostNamed).map(makeVisible).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
