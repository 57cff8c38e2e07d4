import type { RowName, Verdict } from "../types.ts";
import { hashArguments } from "../canonical.ts";
import { attempt } from "./flatten.ts";
import {
  areVouched,
  bounds,
  classified,
  denylisted,
  fits,
  isAllowed,
  isClassifiable,
  isCurrent,
  isListed,
  isMode,
  isNever,
  isSoftened,
  isUninspectable,
  isVouched,
  namesOf,
  offered,
  pinOf,
  type World,
} from "./reference-world.ts";

/** Row, verdict, and the reason up to its first `:` or `@`. */
export type Line = readonly [RowName, Verdict["verdict"], string, (world: World) => boolean];

/** The table, read off its words condition by condition; the first that holds gives the verdict. */
export const lines: readonly Line[] = [
  ["1a", "held", "killed", ({ policy }) => policy.kills.some(({ scope }) => scope !== "tool" && scope !== "server")],
  [
    "1b",
    "deny",
    "killed",
    (world) =>
      world.policy.kills.some(
        (kill) =>
          (kill.scope === "tool" && namesOf(world).includes(kill.name)) ||
          (kill.scope === "server" && kill.name === world.tool.server),
      ),
  ],
  ["3", "deny", "tool_not_available", ({ policy, tool }) => !policy.toolset.has(tool.name)],
  ["4", "deny", "tool_off", (world) => isMode(world, "off")],
  ["4", "allow", "never_gated", isNever],
  [
    "5",
    "deny",
    "capability_denied",
    ({ tool, policy }) => (tool.requires ?? []).some((cap) => !policy.grants.has(cap)),
  ],
  ["6", "deny", "denied_by_rule", (world) => world.denies],
  ["7", "deny", "denylist", (world) => denylisted(world).some(({ name }) => !isSoftened(world, name))],
  [
    "8",
    "deny",
    "already_denied",
    (world) =>
      world.policy.denials.some(
        ({ tool, argsHash }) => namesOf(world).includes(tool) && argsHash === hashArguments(world.call.argsText),
      ),
  ],
  ["9", "pick", "needs_selection", (world) => offered(world) === "unbound"],
  ["7", "ask", "denylist", (world) => denylisted(world).length > 0],
  ["10", "ask", "always_gate", ({ tool }) => tool.alwaysGate === true],
  [
    "11",
    "ask",
    "safety",
    ({ tool, args }) => tool.safety !== undefined && attempt(() => tool.safety?.(args), "error") !== undefined,
  ],
  [
    "12",
    "ask",
    "definition_changed",
    (world) =>
      (pinOf(world) === undefined && world.tool.server !== undefined) ||
      (pinOf(world) !== undefined && pinOf(world) !== world.call.definitionHash) ||
      (areVouched(world, () => true) && !areVouched(world, isCurrent(world))),
  ],
  ["13", "ask", "policy_unreadable", ({ policy }) => policy.unreadable === true],
  ["13", "ask", "policy_all", ({ approvalPolicy }) => approvalPolicy === "all"],
  ["13", "ask", "ask_locked", (world) => isMode(world, "ask") && world.effective?.isLocked === true],
  ["13", "ask", "dial_none", ({ dials }) => dials.includes("none")],
  ["14", "ask", "uninspectable", isUninspectable],
  ["15", "allow", "rule", (world) => areVouched(world, isCurrent(world))],
  ["15", "allow", "companion", (world) => offered(world) === "bound"],
  [
    "16",
    "allow",
    "mode_allow",
    (world) =>
      isAllowed(world) &&
      (world.need === false ||
        world.need === undefined ||
        world.binding.some(({ rules }) => rules.some(({ target }) => target.kind === "tool"))),
  ],
  [
    "17",
    "allow",
    "allowlist",
    (world) =>
      isMode(world, "allowlist") &&
      world.units !== undefined &&
      world.units.length > 0 &&
      world.units.every((unit) => isListed(world, unit) || isVouched(world, unit, isCurrent(world))),
  ],
  ["18", "ask", "mode_ask", (world) => isMode(world, "ask")],
  ["18", "ask", "allowlist_miss", (world) => isMode(world, "allowlist")],
  ["19", "ask", "needs_approval", ({ approvalPolicy, need }) => approvalPolicy === "outbound" && need === true],
  [
    "19",
    "ask",
    "needs_approval_error",
    ({ approvalPolicy, need }) => approvalPolicy === "outbound" && need === "error",
  ],
  ["20", "allow", "policy_none", ({ approvalPolicy, dials }) => dials.length === 0 && approvalPolicy === "none"],
  ["20", "allow", "needs_no_approval", ({ need, dials }) => dials.length === 0 && need === false],
  ["21", "allow", "dial", (world) => bounds(world).every((level) => fits(level, world.tier, world.risk))],
  [
    "22",
    "allow",
    "classified",
    (world) => {
      const level = classified(world);
      const isLowered = level === "read-only" || level === "low";
      return isClassifiable(world) && isLowered && bounds(world).every((dial) => fits(dial, world.tier, level));
    },
  ],
  ["23", "allow", "yolo", ({ dials }) => dials.length > 0 && dials.every((level) => level === "high")],
  ["24", "ask", "classifier_unavailable", (world) => isClassifiable(world) && classified(world) === "unavailable"],
  ["24", "ask", "above_dial", () => true],
];
