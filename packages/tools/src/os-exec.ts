import type { Environment } from "@countersign/broker/environment.ts";
import { changedPreconditions } from "@countersign/engine/propose-call.ts";
import { defineTool, type Tool, type ToolResult } from "@countersign/engine/tool.ts";
import { dangerOfCommand } from "@countersign/gate/shell/root.ts";
import { faultOfCommand, unitsOfCommand } from "@countersign/gate/shell/units.ts";
import { z } from "zod";
import { commandEnvironment } from "./exec-environment.ts";
import { canSwitchUser, takeUser } from "./exec-user.ts";
import { findNamedFiles } from "./named-files.ts";
import { type CommandOutcome, runCommand } from "./run-command.ts";

export interface OsExecOptions {
  /** `own`: each command runs as a user of its own, which takes root. `same`: as the worker's. */
  readonly user: "own" | "same";
  /** The worker's environment; commands see it without what sounds like a secret. */
  readonly environment: Environment;
  /** Names that are shown all the same. */
  readonly envAllowlist?: readonly string[];
  /** An absolute folder that commands are meant to stay in: one that leads out of it asks under every dial. */
  readonly root?: string;
  /** 15 s unless stated. */
  readonly timeoutMs?: number;
}

export type OsExecChoice =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly user: OsExecOptions["user"] }
  | { readonly kind: "refused"; readonly message: string };

const usualTimeoutMs = 15_000;
const mostBytes = 8 * 1024;

/**
 * Whether this process offers `os.exec`, from `COUNTERSIGN_OS_EXEC` and whether its providers are fakes. As a user of
 * its own where that is possible; elsewhere only `same-user` turns it on, since such a command can read what the worker can.
 */
export function chooseOsExec(
  setting: "0" | "1" | "same-user" | undefined,
  isFake: boolean,
  canSwitch: boolean = canSwitchUser(),
): OsExecChoice {
  if (setting === "same-user") return { kind: "on", user: "same" };
  if (setting === "1" && !canSwitch) {
    return {
      kind: "refused",
      message:
        "COUNTERSIGN_OS_EXEC=1 runs commands as users of their own (70000 to 70063), which this process cannot switch to. Start the worker as root, or set COUNTERSIGN_OS_EXEC=same-user if commands may read all that the worker can.",
    };
  }
  const isOn = setting === "1" || (setting === undefined && isFake && canSwitch);
  return isOn ? { kind: "on", user: "own" } : { kind: "off" };
}

const schema = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(8_192)
    .superRefine((text, { addIssue }) => {
      const fault = faultOfCommand(text);
      if (fault !== undefined) addIssue(fault);
    })
    .describe("What /bin/sh is to run"),
  cwd: z
    .string()
    .max(4_096)
    .regex(/^\/[^\0]*$/, "expected a path that begins with /")
    .optional()
    .describe("The folder to run it in; without it a fresh one that is removed afterwards"),
});

/** Runs one shell command. Every one is asked for; one that was interrupted is never run again by itself. */
export function osExec(options: OsExecOptions): Tool {
  const { timeoutMs = usualTimeoutMs, root } = options;
  const seconds = timeoutMs / 1_000;
  return defineTool<z.infer<typeof schema>>({
    name: "os.exec",
    description: `Runs a command with /bin/sh -c, without input, for at most ${seconds} s. A person approves each one. The result is its exit code and the first 8 KB of its output; everything it started is ended with it.`,
    schema,
    family: "shell",
    tier: "exec",
    needsApproval: true,
    alwaysGate: true,
    effect: "once",
    // Its own limit ends it first, with an answer that says so.
    timeoutMs: timeoutMs + 10_000,
    // Outside of a root nobody vouches for the repositories that a command may be run in.
    units: ({ command, cwd }) =>
      unitsOfCommand(command, {
        ...(root === undefined ? {} : { root }),
        ...(cwd !== undefined && root === undefined ? { isUntrusted: true } : {}),
      }),
    ...(root === undefined ? {} : { safety: ({ command, cwd = root }) => dangerOfCommand(command, { root, cwd }) }),
    details: ({ command, cwd }) => [
      `Command: ${command}`,
      `Folder: ${cwd ?? "a fresh one, removed afterwards"}`,
      `User: ${options.user === "own" ? "one of its own" : "the worker's own, with all that it can read"}`,
      `Limits: ${seconds} s, 8 KB of output`,
    ],
    async propose({ command, cwd }) {
      const { files, message } = await findNamedFiles(command, cwd);
      return { kind: "proposed", message, preconditions: files };
    },
    async execute({ command, cwd }, { preconditions, signal }) {
      const [changed] = changedPreconditions(preconditions, (await findNamedFiles(command, cwd)).files);
      if (changed !== undefined) return { kind: "changed", content: changed };
      const user = options.user === "own" ? await takeUser() : undefined;
      if (options.user === "own" && user === undefined)
        return {
          kind: "failed",
          content: "not run: as many commands as there are users for run already; try again later",
        };
      try {
        const environment = commandEnvironment(options.environment, options.envAllowlist);
        const request = { command, cwd, environment, timeoutMs, mostBytes, signal, uid: user?.uid };
        return describe(await runCommand(request), seconds);
      } finally {
        user?.release();
      }
    },
  });
}

function describe(outcome: CommandOutcome, seconds: number): ToolResult {
  if (outcome.kind === "not_started") return { kind: "failed", content: `not run: ${outcome.reason}` };
  const left = outcome.left === 0 ? "" : `; ${outcome.left} of its processes could not be ended`;
  const output = outcome.output === "" ? "" : `\n${outcome.output}`;
  switch (outcome.kind) {
    case "exited": {
      const how = outcome.killedBy === null ? `exit code ${outcome.code}` : `ended by ${outcome.killedBy}`;
      return { kind: "done", content: `${how}${left}${output}` };
    }
    case "timeout":
      return { kind: "failed", code: "timeout", content: `stopped after ${seconds} s, in the middle${left}${output}` };
    case "stopped":
      return { kind: "unknown", content: `stopped in the middle${left}${output}` };
  }
}
