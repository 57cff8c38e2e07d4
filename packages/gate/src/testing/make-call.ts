import * as z from "zod";
import type { Policy, ProposedCall, ToolFacts } from "../types.ts";

export const now = new Date("2026-03-01T12:00:00Z");

/** A tool with nothing declared but a text argument `a`. */
export function makeTool(facts: Partial<ToolFacts> = {}): ToolFacts {
  return {
    name: "demo",
    description: "A tool for tests.",
    schema: z.object({ a: z.string() }),
    ...facts,
  };
}

/** A call of that tool with arguments that fit. */
export function makeCall(facts: Partial<ToolFacts> = {}, argsText = '{"a":"x"}'): ProposedCall {
  const tool = makeTool(facts);
  return { tool, name: tool.name, argsText };
}

/** A policy in which no layer says anything, and the tool is offered. */
export function makePolicy(facts: Partial<Policy> = {}): Policy {
  return {
    versions: "app:1",
    layers: {},
    kills: [],
    toolset: new Set(["demo"]),
    grants: new Set(),
    denials: [],
    unattended: "park",
    canAnybodyAnswer: true,
    ...facts,
  };
}
