import { ask, type Call, type HeldBy, type LogLine, type Run, type RunTree } from "../client.ts";
import { askUntilReached, followEvents, type FollowOptions, type StreamEvent } from "../events.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { openCards, showLogLine, showWaiting } from "../show/log-line.ts";
import { paragraph } from "../show/paragraph.ts";
import { sayHeld, statusOf } from "../show/words.ts";
import { createLive } from "../terminal/live.ts";
import { spanOf } from "../terminal/time.ts";
import { cutTo } from "../terminal/width.ts";
import type { Cli } from "../verb.ts";
import { onInterrupt } from "./interrupt.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;

/** How far back the turn may lie whose call a line is of. */
const linesBefore = 300;

type Standing = Pick<Run, "status" | "waitsOn" | "heldBy">;

/**
 * Follows a run: prints its story as it happens and, on a terminal, shows below how it stands. Returns when it has
 * completed or on Ctrl-C. Throws CliError where it failed or was canceled, and `timeout` when the time was up.
 */
export async function watchRun(cli: Cli, id: string, timeoutSeconds: number | undefined): Promise<void> {
  const { client, terminal } = cli;
  const { style } = terminal;
  const live = createLive(terminal);
  const interrupt = onInterrupt(
    terminal,
    timeoutSeconds,
    `The run ${shortId(id)} has not ended, and goes on. Follow it with ./countersign runs watch ${shortId(id)}, end it with ./countersign runs cancel ${shortId(id)}.`,
  );
  const { signal } = interrupt;
  const shownCards = new Set<string>();
  let standing: Standing | undefined;
  let since = Date.now();
  let isAway = false;
  let frame = 0;
  let ended: Standing | undefined;
  let lastSeq = 0;

  const follow: FollowOptions = {
    signal,
    open: async (lastEventId) =>
      await client.v1.runs[":id"].events.$get(
        { param: { id }, header: lastEventId === undefined ? {} : { "last-event-id": lastEventId } },
        { init: { signal } },
      ),
    onAway(is) {
      isAway = is;
    },
  };

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

  async function takeIn(events: readonly StreamEvent[]): Promise<void> {
    const lines = events.flatMap(({ event, data }) => (event === "line" ? [data as LogLine] : []));
    if (cli.isJson) await tellLines(events);
    else if (lines.length > 0) live.print(storyOf(lines, await readTree(lines)));
    for (const { event, data } of events) {
      if (event === "status" || event === "end") takeStanding(data as Standing, event === "end");
      if (event === "resync" && !cli.isJson)
        live.print([style.dim("… more happened than is shown here: see runs get")]);
    }
  }

  /** Every line, once and in order: those that a stream leaves out, since they are too many, are read by pages. */
  async function tellLines(events: readonly StreamEvent[]): Promise<void> {
    for (const { event, data } of events) {
      if (event === "line") tellLine(data as LogLine);
      if (event !== "resync") continue;
      const { lastSeq: upTo } = data as { readonly lastSeq: number };
      while (lastSeq < upTo) {
        const query = { after: lastSeq, limit: 1_000 };
        const { lines } = await askUntilReached(
          follow,
          async () => await ask(client.v1.runs[":id"].log.$get({ param: { id }, query }, { init: { signal } }), signal),
        );
        if (lines.length === 0) break;
        for (const line of lines) tellLine(line);
      }
    }
  }

  function tellLine(line: LogLine): void {
    if (line.seq <= lastSeq) return;
    lastSeq = line.seq;
    cli.printJson(line);
  }

  function takeStanding(now: Standing, isEnd: boolean): void {
    if (standing?.status !== now.status || standing.waitsOn !== now.waitsOn) since = Date.now();
    if (!cli.isJson) tellHold(now.heldBy, standing?.heldBy ?? null);
    standing = now;
    if (isEnd) ended = now;
  }

  /** Says once by what the run is held, and that it goes on: the story itself has no line of either. */
  function tellHold(heldBy: HeldBy | null, before: HeldBy | null): void {
    if (heldBy === null ? before === null : heldBy.since === before?.since) return;
    const said = heldBy === null ? "▶ the kill switch is lifted" : `⏸ ${sayHeld(heldBy)}`;
    live.print(paragraph(said, terminal, 2, 2).map(style.yellow));
  }

  /** The entries that these lines are of, or that their calls were asked for in. */
  async function readTree(lines: readonly LogLine[]): Promise<RunTree> {
    const after = Math.max((lines[0]?.seq ?? 1) - linesBefore, 0);
    const query = { after, limit: 1_000 };
    return await askUntilReached(
      follow,
      async () => await ask(client.v1.runs[":id"].tree.$get({ param: { id }, query }, { init: { signal } }), signal),
    );
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
    for await (const events of followEvents(follow)) {
      await takeIn(events);
      if (ended !== undefined) break;
      drawStatus();
    }
    // It had ended, and the stream was gone before it said so.
    if (!signal.aborted)
      ended ??= await ask(client.v1.runs[":id"].$get({ param: { id } }, { init: { signal } }), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
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
