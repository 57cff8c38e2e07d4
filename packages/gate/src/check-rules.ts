import type * as z from "zod";
import { problemsOfEntry } from "./check-entry.ts";
import type { LayerName, Rule, RuleTarget } from "./rule.ts";
import { ruleList, type WrittenRule } from "./rule-shapes.ts";
import type { ToolFacts } from "./types.ts";

/** What a rule may name. */
export interface KnownTools {
  readonly tools: readonly Pick<ToolFacts, "name" | "aliases" | "family" | "server">[];
}

/** Something that is wrong with a rule. `path` leads to it: `[2].entries[0].pattern`. */
export interface RuleProblem {
  readonly path: string;
  readonly keys: readonly PropertyKey[];
  readonly problem: string;
}

/** A rule as it was written and checked, without what storing it adds. */
export type CheckedRule = Omit<Rule, "id" | "remembered" | "definitionHash" | "createdAt">;

export type CheckedRules =
  | { readonly kind: "rules"; readonly rules: readonly CheckedRule[] }
  /** Not one of the rules may be taken. */
  | { readonly kind: "refused"; readonly problems: readonly RuleProblem[] };

/** Families that a rule may name whether or not a tool of them is known. */
const usualFamilies = ["file", "shell", "web", "task", "subagent", "mcp"];

/**
 * Reads the rules of a layer. Either all of them are in order, or none counts and every problem is named: unknown keys,
 * tools, servers and families, entries that could never match or never be parsed, a lock that the layer cannot set, two
 * rules for one target.
 */
export function checkRules(source: unknown, known: KnownTools, layer: LayerName): CheckedRules {
  const parsed = ruleList.safeParse(source);
  if (!parsed.success) return { kind: "refused", problems: parsed.error.issues.flatMap(problemsOfIssue) };
  const written = parsed.data;
  const problems = written.flatMap((rule, index) => [
    ...problemsOfRule(rule, known, layer).map(({ keys, problem }) => problemAt([index, ...keys], problem)),
    ...problemsOfTwins(rule, index, written),
  ]);
  return problems.length > 0 ? { kind: "refused", problems } : { kind: "rules", rules: written.map(checkedRule) };
}

/** The problems that zod reports as one: each unknown key is one of its own, in its own place. */
export function problemsOfIssue(issue: z.core.$ZodIssue): RuleProblem[] {
  if (issue.code !== "unrecognized_keys") return [problemAt(issue.path, issue.message)];
  return issue.keys.map((key) => problemAt([...issue.path, key], `Unrecognized key: ${JSON.stringify(key)}`));
}

/** A problem with its path written out, such as `[2].entries[0].pattern`. */
export function problemAt(keys: readonly PropertyKey[], problem: string): RuleProblem {
  const path = keys.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return { path: path.replace(/^\./, ""), keys, problem };
}

interface Found {
  readonly keys: readonly PropertyKey[];
  readonly problem: string;
}

function problemsOfRule(rule: WrittenRule, known: KnownTools, layer: LayerName): readonly Found[] {
  const { mode, entries, locked, target } = rule;
  const problems: Found[] = [];
  const nameProblem = problemOfTarget(target, rule, known);
  if (nameProblem !== undefined) problems.push({ keys: ["target", "name"], problem: nameProblem });
  if (locked === true && layer !== "workspace" && layer !== "app") {
    problems.push({ keys: ["locked"], problem: `a rule of the ${layer} cannot be locked; only workspace and app can` });
  }
  if (mode === "off" && entries !== undefined) {
    problems.push({ keys: ["entries"], problem: "a tool is off as a whole; leave the entries out, or deny them" });
  }
  if (mode === "allowlist" && entries === undefined) {
    problems.push({ keys: ["entries"], problem: "an allowlist needs entries; without any, write ask" });
  }
  const isAllowing = mode === "allow" || mode === "allowlist";
  for (const [index, entry] of (entries ?? []).entries()) {
    for (const { key, problem } of problemsOfEntry(entry, isAllowing)) {
      problems.push({ keys: ["entries", index, key], problem });
    }
  }
  return problems;
}

function problemOfTarget(target: RuleTarget, { mode }: WrittenRule, known: KnownTools): string | undefined {
  switch (target.kind) {
    case "everything":
      return undefined;
    case "tool": {
      if (known.tools.some(({ name }) => name === target.name)) return undefined;
      const renamed = known.tools.find(({ aliases }) => aliases?.includes(target.name));
      if (renamed === undefined) {
        return unknownName(
          "tool",
          target.name,
          known.tools.map(({ name }) => name),
        );
      }
      return mode === "allow" || mode === "allowlist"
        ? `${JSON.stringify(target.name)} is called ${JSON.stringify(renamed.name)} now; a former name allows nothing`
        : undefined;
    }
    case "server": {
      const servers = known.tools.flatMap(({ server }) => server ?? []);
      return servers.includes(target.name) ? undefined : unknownName("server", target.name, servers);
    }
    case "family": {
      const families = [...known.tools.flatMap(({ family }) => family ?? []), ...usualFamilies];
      return families.includes(target.name) ? undefined : unknownName("family", target.name, families);
    }
  }
}

/** How many of what is known are listed. */
const mostListed = 20;

/** Says what is not known, and what was meant where only the writing differs. */
function unknownName(kind: string, name: string, known: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");
  const meant = known.find((one) => plain(one) === plain(name));
  const all = [...new Set(known)].toSorted();
  const more = all.length > mostListed ? ` and ${all.length - mostListed} more` : "";
  const listed = `${all.slice(0, mostListed).join(", ")}${more}`;
  const hint =
    meant === undefined ? `known: ${listed === "" ? "none" : listed}` : `did you mean ${JSON.stringify(meant)}?`;
  return `there is no ${kind} ${JSON.stringify(name)}; ${hint}`;
}

function problemsOfTwins(rule: WrittenRule, index: number, all: readonly WrittenRule[]): readonly RuleProblem[] {
  const first = all.findIndex(({ target }) => isSameTarget(target, rule.target));
  if (first === index) return [];
  return [
    problemAt([index, "target"], `rule ${first + 1} speaks of this target already; a layer has one rule for each`),
  ];
}

function isSameTarget(a: RuleTarget, b: RuleTarget): boolean {
  return a.kind === b.kind && ("name" in a ? a.name : "") === ("name" in b ? b.name : "");
}

function checkedRule({ target, mode, entries, locked, expiresAt }: WrittenRule): CheckedRule {
  return {
    target,
    mode,
    ...(entries === undefined ? {} : { entries }),
    ...(locked === true ? { locked } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }),
  };
}
