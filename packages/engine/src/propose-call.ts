import { z } from "zod";
import type { Engine, HeldRun } from "./engine.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { startLimit } from "./run-tool.ts";
import { nothingShown, readShown } from "./shown.ts";
import type { Precondition, Proposed, Tool } from "./tool.ts";

/** What a call would do, as its tool says after a look at it. */
export type Proposal = Extract<Proposed, { kind: "proposed" }>;

/** `abandoned`: the run was taken out of our hands meanwhile. */
export type ProposeOutcome = Proposed | { readonly kind: "abandoned" };

/** A person approves what stands on the card: a change that no card can show whole is none that can be approved. */
const mostPreview = 256 * 1024;

const line = z.string().max(20_000);
const proposed = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("proposed"),
    message: line,
    preview: z.string().optional(),
    preconditions: z
      .array(z.object({ kind: z.enum(["file", "page", "script"]), name: line, hash: z.string().min(1).max(200) }))
      .max(1_000),
    options: z
      .array(z.object({ id: z.string().min(1).max(500), label: line, detail: line.optional() }))
      .max(1_000)
      .optional(),
  }),
  z.object({ kind: z.literal("failed"), content: z.string() }),
]);

/**
 * Asks a tool what a call with these arguments would do. It reads and changes nothing, outside any transaction, so it may
 * be asked as often as needed. Never rejects: a tool that fails, takes too long, or proposes more than can be shown gives
 * a result for the model.
 */
export async function proposeCall(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  tool: Tool,
  args: unknown,
): Promise<ProposeOutcome> {
  const limit = startLimit(held, tool);
  const { signal } = limit;
  const aborted = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  try {
    const run = { workspaceId: held.snapshot.workspaceId, runId: held.hold.runId };
    const shown = nothingShown();
    const proposing = tool.propose?.(args as never, {
      ...run,
      callId: call.id,
      userId: held.snapshot.startedBy,
      signal,
      shown,
      read: (body) => readShown(engine.sql, run, shown, body),
    });
    proposing?.catch(() => undefined);
    const said = signal.aborted ? undefined : await Promise.race([proposing, aborted]);
    if (said !== undefined) return checkProposal(call, said);
  } catch (error) {
    if (!signal.aborted) {
      engine.report({ kind: "tool.failed", runId: held.hold.runId, tool: call.tool, error });
      return { kind: "failed", content: `${call.tool} failed while it looked at what it would do; nothing was done` };
    }
  } finally {
    limit.end();
  }
  if (!limit.isReached()) return { kind: "abandoned" };
  return {
    kind: "failed",
    content: `${call.tool} could not say within ${limit.seconds} s what it would do; nothing was done`,
  };
}

function checkProposal({ tool }: RecordedCall, said: Proposed): Proposed {
  const checked = proposed.safeParse(said);
  if (!checked.success)
    throw new TypeError(`${tool} proposed something that is no proposal: ${z.prettifyError(checked.error)}`);
  if (said.kind === "proposed" && (said.preview?.length ?? 0) > mostPreview)
    return {
      kind: "failed",
      content: `the change is too large to be shown to a person (${said.preview?.length} characters; at most ${mostPreview}); make it in smaller parts`,
    };
  return said;
}

/**
 * The names of what differs between what a person agreed to and what is there now: one that is gone, new, or holds
 * something else.
 */
export function changedPreconditions(bound: readonly Precondition[], now: readonly Precondition[]): readonly string[] {
  const key = ({ kind, name }: Precondition): string => JSON.stringify([kind, name]);
  const before = new Map(bound.map((one) => [key(one), one]));
  const after = new Map(now.map((one) => [key(one), one]));
  const names = [...before.values(), ...after.values()]
    .filter((one) => before.get(key(one))?.hash !== after.get(key(one))?.hash)
    .map(({ name }) => name);
  return [...new Set(names)];
}
