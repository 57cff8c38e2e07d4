import { hashArguments } from "../canonical.ts";
import type { Row } from "../facts.ts";
import { speaksOf } from "../rule-targets.ts";
import type { KillSwitch } from "../types.ts";
import { denylistedOf } from "./denylist.ts";

const heldScopes: readonly KillSwitch["scope"][] = ["app", "workspace", "definition", "run"];

/** Row 1a: a kill switch over the run holds everything in it. */
export const holdKilledRun: Row = ({ policy }) => {
  const scope = heldScopes.find((held) => policy.kills.some((kill) => kill.scope === held));
  return scope && { verdict: "held", row: "1a", reason: `killed:${scope}` };
};

/** Row 1b: a kill switch over a tool, by any name it has had, or over its server denies the calls of it. */
export const denyKilledTool: Row = ({ call, policy, names }) => {
  const found = policy.kills.find(
    (kill) =>
      (kill.scope === "tool" && names.includes(kill.name)) ||
      (kill.scope === "server" && kill.name === call.tool?.server),
  );
  return found && { verdict: "deny", row: "1b", reason: `killed:${found.scope}` };
};

/** Row 2: arguments that the tool cannot have meant. */
export const refuseInvalidArguments: Row = ({ checked }) =>
  checked.kind === "invalid"
    ? {
        verdict: "invalid",
        row: "2",
        reason: `invalid_args:${checked.path}`,
        detail: checked.detail,
      }
    : undefined;

/** Row 3: a tool that is not registered, or that the definition does not offer. */
export const denyUnofferedTool: Row = ({ call, policy }) =>
  call.tool === undefined || !policy.toolset.has(call.tool.name)
    ? { verdict: "deny", row: "3", reason: "tool_not_available" }
    : undefined;

/** Row 4: a tool turned off. */
export const denyToolTurnedOff: Row = ({ mode }) =>
  mode?.value === "off" ? { verdict: "deny", row: "4", reason: `tool_off@${mode.layer}` } : undefined;

/** Row 4, for a question to a person: nothing after this row applies to it. */
export const allowNeverGated: Row = ({ call }) =>
  call.tool?.neverGated === true ? { verdict: "allow", row: "4", reason: "never_gated" } : undefined;

/** Row 5: a capability that the tool requires and the run was not granted. */
export const denyMissingCapability: Row = ({ call, policy }) => {
  const missing = call.tool?.requires?.find((capability) => !policy.grants.has(capability));
  return missing === undefined ? undefined : { verdict: "deny", row: "5", reason: `capability_denied:${missing}` };
};

/** Row 6: a deny at any layer, of any unit, is final, whatever more specific rules and inner layers say. */
export const denyByRule: Row = ({ layers, checked, units }) => {
  const args = checked.kind === "valid" ? checked.args : undefined;
  for (const { layer, rules } of layers) {
    const rule = rules.find((one) => one.mode === "deny" && speaksOf(one, units, args));
    if (rule) return { verdict: "deny", row: "6", reason: `denied_by_rule:${rule.id}@${layer}` };
  }
  return undefined;
};

/** Row 7: something on the denylist, but for what the app has softened. */
export const denyDenylisted: Row = (facts) => {
  const found = denylistedOf(facts).find(({ name }) => facts.policy.denylistSoftened?.has(name) !== true);
  return found && { verdict: "deny", row: "7", reason: `denylist:${found.name}`, detail: found.reason };
};

/**
 * Row 8: a person already denied the same tool with the same arguments in this run: as the model wrote them, or as the
 * tool's schema leaves them, without what it strips.
 */
export const denyRepeatOfDenied: Row = ({ call, policy, names, checked }) => {
  const ofTool = policy.denials.filter((denial) => names.includes(denial.tool));
  if (ofTool.length === 0) return undefined;
  const parsed = checked.kind === "valid" ? jsonOf(checked.args) : undefined;
  const hashes = [call.argsText, ...(parsed === undefined ? [] : [parsed])].map(hashArguments);
  const same = ofTool.find((denial) => hashes.includes(denial.argsHash));
  return same && { verdict: "deny", row: "8", reason: `already_denied:${same.approvalId}` };
};

/** Undefined where a schema made something of the arguments that JSON has no word for. */
function jsonOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args);
  } catch {
    return undefined;
  }
}
