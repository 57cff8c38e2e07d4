import { type Command, InvalidArgumentError } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { momentIn, type ScopeOptions, scopeOf, span, withScope } from "../scope.ts";
import { told } from "../show/rules.ts";
import { addVerb } from "../verb.ts";

export const dialLevels = ["none", "read-only", "low", "high", "read", "write"] as const;
export const approvalPolicies = ["none", "outbound", "all"] as const;

export const presetNames = [
  "always-ask",
  "write",
  "yolo",
  "unset",
  "read-only",
  "low-risk",
  "high-risk",
  "manual",
  "safe",
  "auto",
] as const;

export type PresetName = (typeof presetNames)[number];
export type DialLevel = (typeof dialLevels)[number];
export type ApprovalPolicy = (typeof approvalPolicies)[number];

/** Reads one of a few words, for an option; refuses any other with all of them. */
export function oneOf<W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected one of ${words.join(", ")}.`);
  };
}

interface DialOptions extends ScopeOptions {
  readonly level?: DialLevel | "inherit";
  readonly approvalPolicy?: ApprovalPolicy | "inherit";
  readonly for?: number;
  readonly lock?: boolean;
}

/** `countersign rules dial` */
export function addDialVerb(rules: Command): void {
  addVerb<DialOptions>(rules, {
    usage: "dial",
    summary: "Set what runs unasked in a scope, and which calls ask",
    options: (command) =>
      withScope(command)
        .option(
          "--level <level>",
          `what runs unasked: ${dialLevels.join(", ")}, or inherit`,
          oneOf([...dialLevels, "inherit"]),
        )
        .option("--for <span>", "how long, such as 30m", span)
        .option("--lock", "scopes further in may only tighten it; for a workspace")
        .option(
          "--approval-policy <level>",
          `which calls ask: ${approvalPolicies.join(", ")}, or inherit`,
          oneOf([...approvalPolicies, "inherit"]),
        ),
    async run(cli, _args, { level, for: ms, lock, approvalPolicy, ...options }) {
      if (level === undefined && approvalPolicy === undefined)
        throw new CliError("usage", "What is to be set? Give --level, --approval-policy or both.");
      const { scope, id } = await scopeOf(cli.client, options, { scope: "workspace" });
      const locked = lock === true ? { locked: true } : {};
      const expiry = ms === undefined ? {} : { expiresAt: momentIn(ms) };
      const json = {
        ...(level === undefined ? {} : { dial: level === "inherit" ? null : { level, ...locked, ...expiry } }),
        ...(approvalPolicy === undefined
          ? {}
          : { approvalPolicy: approvalPolicy === "inherit" ? null : { level: approvalPolicy, ...locked } }),
      };
      const query = { scope, ...(id === undefined ? {} : { id }) };
      const done = await ask(cli.client.v1.policy.dial.$patch({ query, header: {}, json }));
      if (cli.isJson) return cli.printJson(done);
      const { outcome, waiting } = done;
      cli.print([outcome === "set" ? `Set for this ${scope}.${told(waiting)}` : `This ${scope} stood so before.`]);
    },
  });
}
