import {
  type CheckedRule,
  checkRules,
  type KnownTools,
  problemAt,
  problemsOfIssue,
  type RuleProblem,
} from "./check-rules.ts";
import { type JsonPlaces, locateJson } from "./locate-json.ts";
import type { ApprovalPolicy, Dial, LayerName } from "./rule.ts";
import { layerDocument } from "./rule-shapes.ts";

/** All that a layer says, as it was written and checked. */
export interface CheckedLayer {
  readonly rules: readonly CheckedRule[];
  readonly dial?: Dial;
  readonly approvalPolicy?: { readonly level: ApprovalPolicy; readonly locked?: boolean };
  readonly denylistSoftened?: readonly string[];
}

export type CheckedDocument =
  | { readonly kind: "layer"; readonly layer: CheckedLayer }
  | { readonly kind: "refused"; readonly problems: readonly (RuleProblem & { readonly line: number })[] };

/**
 * Reads a policy file: JSON with `rules`, `dial`, `approvalPolicy` and, for the app, `denylistSoftened`. One fault refuses
 * the whole of it, and every fault is named with its line (the first is 1) and its path.
 */
export function readPolicyDocument(text: string, known: KnownTools, layer: LayerName): CheckedDocument {
  const places = locateJson(text);
  if (places.kind === "broken") {
    return {
      kind: "refused",
      problems: [{ ...problemAt([], "the file is not JSON, or nested too deep"), line: places.line }],
    };
  }
  const source: unknown = JSON.parse(text);
  const checked = checkLayer(source, known, layer);
  const repeated = places.repeated.map(({ keys, line }) => ({
    ...problemAt(keys, `${JSON.stringify(String(keys.at(-1)))} stands here a second time`),
    line,
  }));
  if (checked.kind === "layer" && repeated.length === 0) return checked;
  const problems = checked.kind === "refused" ? checked.problems.map((problem) => placed(problem, places)) : [];
  return { kind: "refused", problems: [...repeated, ...problems].toSorted((a, b) => a.line - b.line) };
}

type LayerOrProblems =
  | { readonly kind: "layer"; readonly layer: CheckedLayer }
  | { readonly kind: "refused"; readonly problems: readonly RuleProblem[] };

function checkLayer(source: unknown, known: KnownTools, layer: LayerName): LayerOrProblems {
  const parsed = layerDocument.safeParse(source);
  if (!parsed.success) return { kind: "refused", problems: parsed.error.issues.flatMap(problemsOfIssue) };
  const { rules = [], dial, approvalPolicy, denylistSoftened } = parsed.data;
  const checked = checkRules(rules, known, layer);
  const problems =
    checked.kind === "refused"
      ? checked.problems.map(({ keys, problem }) => problemAt(["rules", ...keys], problem))
      : [];
  const mayLock = layer === "workspace" || layer === "app";
  if (dial?.locked === true && !mayLock)
    problems.push(problemAt(["dial", "locked"], `a dial of the ${layer} cannot be locked`));
  if (approvalPolicy?.locked === true && !mayLock) {
    problems.push(problemAt(["approvalPolicy", "locked"], `an approval policy of the ${layer} cannot be locked`));
  }
  if (denylistSoftened !== undefined && layer !== "app") {
    problems.push(
      problemAt(
        ["denylistSoftened"],
        "only the installation's own file (COUNTERSIGN_POLICY) may soften the denylist; take this out here",
      ),
    );
  }
  if (checked.kind === "refused" || problems.length > 0) return { kind: "refused", problems };
  return {
    kind: "layer",
    layer: {
      rules: checked.rules,
      ...(dial === undefined ? {} : { dial: dialOf(dial) }),
      ...(approvalPolicy === undefined ? {} : { approvalPolicy: lockable(approvalPolicy) }),
      ...(denylistSoftened === undefined ? {} : { denylistSoftened }),
    },
  };
}

function dialOf({
  expiresAt,
  ...dial
}: {
  level: Dial["level"];
  expiresAt?: string | undefined;
  locked?: boolean | undefined;
}): Dial {
  return { ...lockable(dial), ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }) };
}

function lockable<T>({ level, locked }: { level: T; locked?: boolean | undefined }): { level: T; locked?: boolean } {
  return locked === true ? { level, locked } : { level };
}

function placed(problem: RuleProblem, places: JsonPlaces): RuleProblem & { readonly line: number } {
  return { ...problem, line: places.lineOf(problem.keys) };
}
