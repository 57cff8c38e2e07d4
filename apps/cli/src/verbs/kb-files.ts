import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { cloneRepository, commitAll, pushCommits } from "../local/git.ts";
import { CliError } from "../exit.ts";
import { exportFiles, importFiles, type ImportReport } from "../local/page-files.ts";
import { makeVisible } from "../terminal/visible.ts";
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
      const report = await (git === true
        ? withClone(source, branch, (folder) => importFiles(cli.client, folder, dir, tell))
        : importFiles(cli.client, source, dir, tell));
      if (!cli.isJson && cli.terminal.isInteractive) process.stderr.write("\r");
      if (cli.isJson) cli.printJson(report);
      else tellReport(cli, report);
      if (report.counts.conflict > 0) process.exitCode = 4;
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
        const count = await exportFiles(cli.client, target, dir);
        requirePages(count, dir);
        if (cli.isJson) return cli.printJson({ files: count });
        return cli.print([
          `${style.green("✔")} ${count} ${count === 1 ? "file is" : "files are"} written to ${makeVisible(target)}.`,
        ]);
      }
      const done = await withClone(target, branch, async (folder) => {
        const files = await exportFiles(cli.client, folder, dir);
        requirePages(files, dir);
        const isCommitted = await commitAll(folder, message);
        if (isCommitted) await pushCommits(folder);
        return { files, isCommitted };
      });
      if (cli.isJson) return cli.printJson(done);
      const what = done.isCommitted ? "went as a commit to" : "are the same already in";
      cli.print([`${style.green("✔")} ${done.files} files ${what} ${makeVisible(target)}.`]);
    },
  });
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
function requirePages(count: number, dir: string): void {
  if (count > 0) return;
  const where = dir === "" ? "the knowledge base" : `the directory ${JSON.stringify(dir)}`;
  const what =
    dir === "" ? "" : " Without --dir all pages are written; ./countersign kb search <words> shows where pages lie.";
  throw new CliError("error", `There is no page in ${where} that you may read, so nothing was written.${what}`);
}

function tellReport(cli: Cli, { counts, nodeCount, notes, conflicts, others }: ImportReport): void {
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
    ...(others.length === 0 ? [] : [style.dim(`Not Markdown, hidden or a link: ${listed(others)}`)]),
  ]);
}

function sideText(text: string | null): string {
  return text === null ? "(removed)" : makeVisible(text.replaceAll(/\s*\n\s*/g, " ⏎ "));
}

/** How many of the files that were left out are named. */
const mostNamed = 10;

function listed(paths: readonly string[]): string {
  const more = paths.length - mostNamed;
  return `${paths.slice(0, mostNamed).map(makeVisible).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
