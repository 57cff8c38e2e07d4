import { isDeepStrictEqual } from "node:util";
import type { Change } from "./shapes/definitions.ts";

/**
 * Where two JSON values differ, by path in the order of the alphabet: objects are gone into, lists and everything else
 * are compared whole. A side without a value leaves out `before` or `after`.
 */
export function diffSpecs(before: object, after: object): Change[] {
  return diffObjects(before, after, []).toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function diffObjects(before: object, after: object, at: readonly string[]): Change[] {
  const sides = [new Map(Object.entries(before)), new Map(Object.entries(after))] as const;
  const names = new Set([...sides[0].keys(), ...sides[1].keys()]);
  return [...names].flatMap((name) => {
    const [old, now]: [unknown, unknown] = [sides[0].get(name), sides[1].get(name)];
    const path = [...at, name];
    if (isDeepStrictEqual(old, now)) return [];
    if (isObject(old) && isObject(now)) return diffObjects(old, now, path);
    return [
      {
        path: path.join("."),
        ...(old === undefined ? {} : { before: old }),
        ...(now === undefined ? {} : { after: now }),
      } as Change,
    ];
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
