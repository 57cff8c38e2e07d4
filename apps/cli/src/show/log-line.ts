import { z } from "zod";
import type { Call, LogLine } from "../client.ts";
import { shortId } from "../find-id.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { makeVisible, paintMarks, visibleLines } from "../terminal/visible.ts";
import { cutTo, wrapTo } from "../terminal/width.ts";

type Place = Pick<Terminal, "style" | "size">;

const longestEvent = 180;

const blocks = z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).catch([]);

const classified = z
  .object({ level: z.string(), model: z.string() })
  .catch({ level: "unavailable", model: "a classifier" });

/** One line of a run's story as people read it. `calls` are those of the turn, or the one the line belongs to. */
export function showLogLine(line: LogLine, calls: readonly Call[], place: Place): string[] {
  const { style } = place;
  switch (line.kind) {
    case "user":
      return spoken(line.actorName ?? "somebody", textOf(line.content), place, style.bold);
    case "assistant":
      return [
        ...blocks
          .parse(line.content)
          .flatMap(({ text }) => (text === undefined ? [] : spoken("agent", text, place, style.cyan))),
        ...calls.flatMap((call) => showAskedCall(call, place)),
      ];
    default:
      return [lineOfCall(line, calls[0], place)];
  }
}

/** A call as the model asked for it, with what stops it. */
function showAskedCall(call: Call, place: Place): string[] {
  const { style } = place;
  const asked = event("→", style.blue, `${call.tool} ${beginningOf(call.args)}`, place);
  // Refused by the gate: it has a result and no story of its own.
  const settledAtOnce =
    call.result !== null && call.log.length === 0 && call.approvals.length === 0 && call.question === null;
  return settledAtOnce
    ? [asked, event("✘", style.red, `${call.tool}: ${beginningOf(textOf(call.result))}`, place)]
    : [asked];
}

function lineOfCall(line: LogLine, call: Call | undefined, place: Place): string {
  const { style } = place;
  const said = textOf(line.content);
  const by = line.actorName ?? line.actor ?? "the system";
  const tool = call?.tool ?? "";
  switch (line.kind) {
    case "approval.decided":
      return decisionLine(said, by, tool, place);
    case "capability.acquired":
      return event("◆", style.magenta, said, place);
    case "call.completed": {
      const isDone = said.endsWith(" done");
      const result =
        call?.result === undefined || call.result === null ? said : `${tool}: ${beginningOf(textOf(call.result))}`;
      return event(isDone ? "✔" : "✘", isDone ? style.green : style.red, result, place);
    }
    case "call.classified": {
      const { level, model } = classified.parse(line.content);
      const judged = level === "unavailable" ? "could not be judged, so it asks" : `was judged ${level}`;
      return event("◇", style.dim, `${tool} ${judged} (${model})`, place);
    }
    case "call.unknown":
      return event("‽", style.yellow, `${tool}: nobody can tell whether it happened`, place);
    case "question.answered":
      return event(
        "✔",
        style.green,
        `${by} ${said}: ${beginningOf(call?.question?.answer ?? "without an answer")}`,
        place,
      );
    case "approval.superseded":
      return event("↻", style.yellow, `the policy changed while ${tool} waited: ${said}`, place);
    case "run.ended":
      return endLine(said, place);
    default:
      return event("·", style.dim, `${line.kind} ${said}`, place);
  }
}

function decisionLine(answer: string, by: string, tool: string, place: Place): string {
  const { style } = place;
  switch (answer) {
    case "approve":
      return event("✔", style.green, `${by} approved ${tool}`, place);
    case "deny":
      return event("✘", style.red, `${by} denied ${tool}`, place);
    default:
      return event("✔", style.green, `${by} on ${tool}: ${answer}`, place);
  }
}

function endLine(said: string, { style, size }: Place): string {
  const [sign, paint] = said.startsWith("completed")
    ? ["✔", style.green]
    : said.startsWith("failed")
      ? ["✘", style.red]
      : ["■", style.dim];
  return paint(cutTo(`${sign} ${makeVisible(said)}`, size().columns - 1));
}

/** That a call waits for a person, and where to look. */
export function showWaiting(call: Call, place: Place): string[] {
  const { style } = place;
  const pending = call.approvals.find((approval) => approval.status === "pending");
  const taskId = pending?.taskId ?? (call.question?.status === "open" ? call.question.taskId : undefined);
  if (taskId === undefined) return [];
  const what =
    pending === undefined
      ? (call.question?.question ?? "")
      : pending.kind === "outcome"
        ? `${call.tool}: did it happen?`
        : `${call.tool} waits for a countersignature`;
  return [event("⚑", style.yellow, what, place), `    ${style.cyan(`./countersign tasks show ${shortId(taskId)}`)}`];
}

/** Ids of the open cards of a call. */
export function openCards(call: Call): string[] {
  const pending = call.approvals.flatMap((approval) => (approval.status === "pending" ? [approval.taskId] : []));
  return call.question?.status === "open" ? [...pending, call.question.taskId] : pending;
}

function spoken(who: string, text: string, place: Place, paint: (text: string) => string): string[] {
  const width = Math.max(20, place.size().columns - 5);
  const lines = visibleLines(text).flatMap((line) => wrapTo(line, width));
  return [paint(makeVisible(who)), ...lines.map((line) => `  ${paintMarks(line, place.style.magenta)}`.trimEnd())];
}

/** One line, however long what it tells of is: a story is skimmed, and `runs get --json` has all of it. */
function event(sign: string, paint: (text: string) => string, text: string, { size }: Place): string {
  return `  ${paint(sign)} ${cutTo(makeVisible(text), Math.min(size().columns, longestEvent) - 6)}`;
}

/** The first line of a text, with how many follow. */
function beginningOf(text: string): string {
  const [first = "", ...rest] = text.trim().split(/\r\n|\n/);
  return rest.length === 0 ? first : `${first} (and ${rest.length} more ${rest.length === 1 ? "line" : "lines"})`;
}

/** Content as text: what is text as it is, anything else as JSON. */
export function textOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
