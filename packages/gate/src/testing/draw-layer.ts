import type { Dial, LayerName, LayerPolicy, Rule, RuleEntry } from "../rule.ts";
import { now } from "./make-call.ts";
import { type Draw, type Pick, present } from "./seeded-draw.ts";

const dates = [undefined, ...[-4, -3, -2, -1].map((days) => new Date(now.getTime() + days * 86_400_000))];
const ends = [undefined, undefined, undefined, new Date(now.getTime() - 1), now, new Date(now.getTime() + 1)];

const entries: readonly RuleEntry[] = [
  { kind: "unit", unit: "one" },
  { kind: "unit", unit: "third" },
  { kind: "unit", unit: "demo" },
  { kind: "command", command: "git status" },
  { kind: "command", command: "/bin/ls" },
  { kind: "command", command: "rm" },
  { kind: "command", command: "git" },
  { kind: "pattern", pattern: "t.*" },
  { kind: "pattern", pattern: ".*" },
  { kind: "pattern", pattern: "mcp_s_demo x" },
  { kind: "unit", unit: "> out" },
  { kind: "argument", name: "action", value: "exec" },
  { kind: "argument", name: "action", value: "list" },
];

const demo = { kind: "tool", name: "demo" } as const;

/** All that a layer may say, or may no longer say. */
export function drawLayer(draw: Draw, pick: Pick, layer: LayerName): LayerPolicy {
  const mayLock = layer === "workspace" || layer === "app";
  const lock = (): true | undefined => (mayLock && draw(4) === 0 ? true : undefined);
  const dial = (): Dial =>
    present<Dial>({
      level: pick(["none", "read-only", "low", "high", "high", "read", "write"] as const),
      expiresAt: pick(ends),
      locked: lock(),
    });
  return present<LayerPolicy>({
    rules: draw(24) === 0 ? drawStaleAsk(pick, layer, lock()) : drawRules(draw, pick, layer, lock),
    dial: draw(5) === 0 ? dial() : undefined,
    approvalPolicy:
      draw(6) === 0
        ? present<NonNullable<LayerPolicy["approvalPolicy"]>>({
            level: pick(["none", "none", "outbound", "all"] as const),
            locked: lock(),
          })
        : undefined,
  });
}

function drawRules(draw: Draw, pick: Pick, layer: LayerName, lock: () => true | undefined): readonly Rule[] {
  const ids = Array.from({ length: Math.max(0, draw(6) - 2) }, (_, index) => `${layer}-${index}`);
  return ids.map((id) => drawRule(draw, pick, id, lock()));
}

/** An ask for the tool beside an allow for its family, one of them older, or neither. */
function drawStaleAsk(pick: Pick, layer: LayerName, locked: true | undefined): readonly Rule[] {
  const family = pick([
    { kind: "family", name: "file" },
    { kind: "server", name: "s" },
    { kind: "everything" },
  ] as const);
  return [
    present<Rule>({ id: `${layer}-ask`, target: demo, mode: "ask", locked, createdAt: pick(dates) }),
    present<Rule>({ id: `${layer}-allow`, target: family, mode: "allow", createdAt: pick(dates) }),
  ];
}

function drawRule(draw: Draw, pick: Pick, id: string, locked: true | undefined): Rule {
  const mode = pick([
    "off",
    "deny",
    "ask",
    "ask",
    "allowlist",
    "allowlist",
    "allowlist",
    "allow",
    "allow",
    "allow",
    "allow",
  ] as const);
  const hasEntries = mode === "allowlist" || (mode !== "off" && draw(2) === 0);
  return present<Rule>({
    id,
    target: pick([
      demo,
      demo,
      { kind: "tool", name: pick(["former", "other"]) },
      { kind: "server", name: "s" },
      { kind: "family", name: pick(["file", "mcp"]) },
      { kind: "everything" },
    ] as const),
    mode,
    entries: hasEntries ? Array.from({ length: 1 + draw(3) }, () => pick(entries)) : undefined,
    locked,
    remembered: mode === "allow" && draw(2) === 0 ? (true as const) : undefined,
    definitionHash: mode === "allow" && draw(4) === 0 ? pick(["h1", "h2"]) : undefined,
    createdAt: pick(dates),
    expiresAt: pick(ends),
  });
}
