import { ask, type Call, isOutOfReach, type LogLine, type LogPart, type RunTree } from "../client.ts";
import { CliError } from "../exit.ts";
import { openCards, showLogLine, showWaiting } from "../show/log-line.ts";
import { statusOf } from "../show/words.ts";
import { createLive } from "../terminal/live.ts";
import { spanOf } from "../terminal/time.ts";
import { cutTo } from "../terminal/width.ts";
import type { Cli } from "../verb.ts";
import { onInterrupt, pause } from "./interrupt.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;

/** How long the server is asked to wait for the next line, in seconds. A status changes without one, so not too long. */
const waitSeconds = 5;

/**
 * Follows a run: prints its story as it happens and, on a terminal, shows below how it stands. Returns when it has
 * completed or on Ctrl-C. Throws CliError where it failed or was canceled, and `timeout` when the time was up.
 */
export async function watchRun(cli: Cli, id: string, timeoutSeconds: number | undefined): Promise<void> {
  const { client, terminal } = cli;
  const { style } = terminal;
  const live = createLive(terminal);
  const interrupt = onInterrupt(timeoutSeconds);
  const { signal } = interrupt;
  const shownCards = new Set<string>();
  let standing: Pick<LogPart, "status" | "waitsOn"> | undefined;
  let since = Date.now();
  let isAway = false;
  let after = 0;
  let frame = 0;
  let ended: LogPart | undefined;

  function drawStatus(): void {
    if (cli.isJson || standing === undefined) return;
    const { text, paint } = statusOf(standing, style);
    const isMoving = standing.status === "running" || standing.status === "queued";
    const sign = isMoving ? `${frames[frame % frames.length] ?? ""} ${text.slice(2)}` : text;
    const line = isAway ? "… the server does not answer; trying again" : `${sign} · ${spanOf(Date.now() - since)}`;
    frame += 1;
    const cut = cutTo(line, terminal.size().columns - 1);
    live.draw(["", isAway ? style.red(cut) : paint(cut)]);
  }

  async function takeIn(part: LogPart): Promise<void> {
    if (standing?.status !== part.status || standing.waitsOn !== part.waitsOn) since = Date.now();
    standing = part;
    if (cli.isJson) {
      for (const line of part.lines) cli.printJson(line);
    } else if (part.lines.length > 0) {
      const tree = await ask(
        client.v1.runs[":id"].tree.$get({ param: { id }, query: { limit: 1000 } }, { init: { signal } }),
        signal,
      );
      live.print(storyOf(part.lines, tree));
    }
    after = part.nextAfter;
  }

  function storyOf(lines: readonly LogLine[], tree: RunTree): string[] {
    const turns = new Map(tree.entries.map((entry) => [entry.seq, entry.calls]));
    const calls = new Map(tree.entries.flatMap((entry) => entry.calls.map((call) => [call.id, call])));
    const callsOf = (line: LogLine): readonly Call[] => {
      const own = calls.get(line.callId ?? "");
      return own === undefined ? (turns.get(line.seq) ?? []) : [own];
    };
    const story = lines.flatMap((line) => showLogLine(line, callsOf(line), terminal));
    for (const call of calls.values()) {
      const fresh = openCards(call).filter((card) => !shownCards.has(card));
      for (const card of fresh) shownCards.add(card);
      if (fresh.length > 0) story.push(...showWaiting(call, terminal));
    }
    return story;
  }

  const timer = terminal.isTerminal ? setInterval(drawStatus, frameMs) : undefined;
  try {
    while (ended === undefined && !signal.aborted) {
      try {
        const query = { after, wait: after === 0 ? 0 : waitSeconds };
        const part = await ask(client.v1.runs[":id"].log.$get({ param: { id }, query }, { init: { signal } }), signal);
        isAway = false;
        await takeIn(part);
        if (part.hasEnded) ended = part;
      } catch (error) {
        if (signal.aborted) break;
        if (!isOutOfReach(error) || standing === undefined) throw error;
        isAway = true;
        await pause(1_000, signal);
      }
      if (ended === undefined) drawStatus();
    }
  } finally {
    clearInterval(timer);
    live.end();
    interrupt.dispose();
  }
  interrupt.check();
  if (ended === undefined) return;
  if (ended.status !== "completed")
    throw new CliError("error", `The run ended as ${ended.status}.`, { status: ended.status });
}
