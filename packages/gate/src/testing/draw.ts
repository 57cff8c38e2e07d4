import * as z from "zod";
import { hashArguments } from "../canonical.ts";
import type { LayerName } from "../rule.ts";
import type { Classified, Policy, ProposedCall, ToolFacts } from "../types.ts";
import type { Unit } from "../unit.ts";
import { drawLayer } from "./draw-layer.ts";
import { makePolicy, makeTool } from "./make-call.ts";
import { type Draw, present } from "./seeded-draw.ts";

const schema = z.object({ a: z.string(), action: z.string() });
const argsText = '{"a":"x","action":"exec"}';
const otherArgs = hashArguments('{"a":"y"}');
const args = hashArguments(argsText);

// One for all: taking a stack would take longer than the gate.
const broken = new Error("broken tool");

function throwing(): never {
  throw broken;
}

const plain: readonly Unit[] = [{ text: "one" }, { text: "two" }, { text: "three", key: "third" }];
const commands: readonly Unit[] = [
  { text: "git status -s", key: "git status", commands: [["git", "status", "-s"]] },
  { text: "/bin/ls", key: "/bin/ls", unkeyable: "program_path", commands: [["/bin/ls"], ["ls"]] },
  {
    text: "env rm x",
    unkeyable: "wrapper",
    commands: [
      ["env", "rm", "x"],
      ["rm", "x"],
    ],
  },
  { text: "> out", key: "> out", isWrite: true },
  { text: "sudo ls", unkeyable: "wrapper", denylisted: [{ name: "sudo", reason: "becomes root" }] },
  { text: "on\u200be" },
];

const layers: readonly LayerName[] = ["run", "definition", "workspace", "app"];

/** A call and a policy drawn from all that the table looks at. Most of what a policy can say is left out of most draws. */
export function drawCase(draw: Draw): { readonly call: ProposedCall; readonly policy: Policy } {
  const pick = <T>(from: readonly T[]): T => from[draw(from.length)] as T;
  const seldom = <T>(value: T): T | undefined => (draw(12) === 0 ? value : undefined);
  const some = (): readonly Unit[] => {
    const from = draw(3) === 0 ? [...plain, ...commands] : plain;
    return Array.from({ length: draw(4) }, () => pick(from));
  };
  const units = some();
  const tool = present<ToolFacts>({
    ...makeTool({ schema }),
    aliases: seldom(["former"]),
    family: pick([undefined, "file", "shell"]),
    server: draw(5) === 0 ? "s" : undefined,
    tier: pick([undefined, "read", "write", "exec", throwing] as const),
    risk: pick([undefined, undefined, undefined, "low", "high", "unknown", throwing] as const),
    needsApproval: pick([undefined, undefined, true, false, () => true, () => false, throwing] as const),
    requires: seldom(["cap"]),
    alwaysGate: seldom(true),
    neverGated: draw(30) === 0 ? (true as const) : undefined,
    safety: seldom(pick([() => "outside_root", () => undefined, throwing] as const)),
    options: seldom(pick([() => [{ id: "o", label: "O" }], () => [], throwing] as const)),
    role: pick([undefined, "r"]),
    units: pick([undefined, () => units, () => units, () => units, draw(9) === 0 ? throwing : () => units] as const),
  });
  const call = present<ProposedCall>({
    tool,
    name: "demo",
    argsText,
    definitionHash: pick([undefined, "h1", "h1", "h2"]),
    classified: pick<Classified | undefined>([
      undefined,
      { level: pick(["read-only", "low", "high", "unavailable"] as const), argsHash: pick([args, args, otherArgs]) },
    ]),
  });
  const policy = present<Policy>({
    ...makePolicy(),
    layers: Object.fromEntries(layers.map((layer) => [layer, drawLayer(draw, pick, layer)])),
    kills:
      draw(60) === 0
        ? [pick([{ scope: "run" }, { scope: "tool", name: "former" }, { scope: "server", name: "s" }] as const)]
        : [],
    toolset: new Set(draw(60) === 0 ? [] : ["demo"]),
    grants: new Set(draw(6) === 0 ? [] : ["cap"]),
    denials:
      draw(20) === 0 ? [{ approvalId: "a", tool: pick(["demo", "former"]), argsHash: pick([args, otherArgs]) }] : [],
    bindings: seldom(new Map([[pick(["r", "demo"]), pick(["o", "gone"])]])),
    pins:
      tool.server === undefined && draw(8) > 0
        ? undefined
        : pick([undefined, ...["h1", "h1", "h1", "h2"].map((hash) => new Map([["demo", hash]]))]),
    denylistSoftened: seldom(new Set(["sudo"])),
    unreadable: draw(60) === 0 ? (true as const) : undefined,
    unattended: pick(["park", "park", "deny"] as const),
    canAnybodyAnswer: draw(4) > 0,
  });
  return { call, policy };
}
