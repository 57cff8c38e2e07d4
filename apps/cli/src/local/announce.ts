import { relative } from "node:path";
import { usualDataDir } from "@countersign/broker/data-dir.ts";
import type { Task } from "../client.ts";
import { shortId } from "../find-id.ts";
import { commandLines } from "../show/card.ts";
import { kindOf } from "../show/words.ts";
import { createLive } from "../terminal/live.ts";
import { spanOf } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { cutTo } from "../terminal/width.ts";
import type { Cli } from "../verb.ts";
import type { ReceivedMail } from "./mail-server.ts";

export interface Standing {
  readonly url: string;
  /** Signs the person at this machine in, once. */
  readonly loginUrl: string;
  readonly dataDir: string;
  /** The workspace is the demo's: its mail goes to this machine, and its token stays. */
  readonly isDemo: boolean;
  /** A run to start by hand. */
  readonly example: { readonly definition: string; readonly input: string } | undefined;
  readonly tasks: readonly Task[];
  readonly elapsedMs: number;
}

/** What `dev` tells. For a program each is a line of JSON. */
export interface Announcer {
  /** A step that is under way. */
  doing(text: string): void;
  /** A step that was taken, and how long it took. */
  step(text: string, sinceMs: number): void;
  /** All is up; what waits and how to go on. */
  standing(standing: Standing): void;
  mail(mail: ReceivedMail): void;
  /** Something does not work. */
  trouble(text: string): void;
  /** It works, and somebody should know. */
  warning(text: string): void;
  note(text: string): void;
  /** Leaves the terminal in order; nothing is under way. */
  close(): void;
}

/** Tells a person at the terminal, or a program with `--json`. */
export function createAnnouncer(cli: Cli): Announcer {
  if (cli.isJson) {
    return {
      doing: () => undefined,
      close: () => undefined,
      step: (text, sinceMs) => cli.printJson({ event: "step", text, elapsedMs: elapsed(sinceMs) }),
      standing: (standing) => cli.printJson({ event: "ready", ...standing }),
      mail: (mail) => cli.printJson({ event: "mail", ...mail }),
      trouble: (text) => cli.printJson({ event: "trouble", text }),
      warning: (text) => cli.printJson({ event: "warning", text }),
      note: (text) => cli.printJson({ event: "note", text }),
    };
  }
  const { style } = cli.terminal;
  const live = createLive(cli.terminal);
  const say = (lines: readonly string[]): void => {
    live.end();
    cli.print(lines);
  };
  return {
    doing: (text) => live.draw([style.dim(`  … ${text}`)]),
    close: () => live.end(),
    step(text, sinceMs) {
      const ms = elapsed(sinceMs);
      const took = ms < 50 ? "" : style.dim(`  ${(ms / 1_000).toFixed(1)} s`);
      say([`  ${style.green("✔")} ${text}${took}`]);
    },
    standing: (standing) => say(standingLines(standing, cli)),
    mail({ to, subject, file }) {
      const addresses = to.map(makeVisible).join(", ");
      say([
        `  ${style.green("✉")} mail to ${addresses}: ${style.bold(makeVisible(subject))}`,
        style.dim(`    kept in ${shown(file)}; nothing left this machine`),
      ]);
    },
    trouble: (text) => say([`  ${style.red("✘")} ${makeVisible(text)}`]),
    warning: (text) => say([`  ${style.yellow("!")} ${makeVisible(text)}`]),
    note: (text) => say([style.dim(`  ${text}`)]),
  };
}

function elapsed(sinceMs: number): number {
  return Math.round(performance.now() - sinceMs);
}

function standingLines(standing: Standing, { terminal }: Cli): string[] {
  const { url, loginUrl, dataDir, isDemo, example, tasks, elapsedMs } = standing;
  const { style, size } = terminal;
  const count =
    tasks.length === 0
      ? "Nothing waits for you"
      : tasks.length === 1
        ? "One card waits for you"
        : `${tasks.length} cards wait for you`;
  const seconds = (elapsedMs / 1_000).toFixed(1);
  return [
    "",
    `${style.bold("Countersign")} serves ${style.bold(url)}   ${style.dim(`ready in ${seconds} s`)}`,
    `${style.dim("Open in a browser")} ${style.cyan(loginUrl)}`,
    "",
    style.bold(count),
    ...tasks.flatMap((task) => {
      const { sign } = kindOf(task);
      const age = spanOf(Date.now() - new Date(task.createdAt).getTime());
      const title = cutTo(makeVisible(task.title), size().columns - 16);
      const commands = [
        `  ${style.cyan(`./countersign tasks show ${shortId(task.id)}`)}`,
        ...commandLines(task, terminal),
      ];
      const watch = task.run === null ? [] : [`  ${style.cyan(`./countersign runs watch ${shortId(task.run.id)}`)}`];
      return ["", `${style.yellow(sign)} ${style.bold(title)}  ${style.dim(`${age} old`)}`, ...commands, ...watch].map(
        (line) => (line === "" ? line : `  ${line}`),
      );
    }),
    "",
    `${style.dim("Another link to sign in ")}${style.cyan("./countersign login")}`,
    `${style.dim("Everything that waits   ")}${style.cyan("./countersign tasks watch")}`,
    ...(example === undefined
      ? []
      : [
          `${style.dim("Start one yourself      ")}${style.cyan(`./countersign runs start ${example.definition} "${example.input}" --watch`)}`,
        ]),
    ...(dataDir === usualDataDir
      ? []
      : [`${style.dim("In another terminal     ")}${style.cyan(`export COUNTERSIGN_DATA=${dataDir}`)}`]),
    style.dim(
      isDemo
        ? `Mail is kept in ${shown(dataDir)}/mail and goes nowhere. Ctrl-C stops everything; the cards wait on.`
        : "Ctrl-C stops everything and revokes the command line's token, which otherwise expires in a day; the cards wait on.",
    ),
    "",
  ];
}

/** A path as one would type it here. */
function shown(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") ? path : near;
}
