import type { Option, Policy, ToolFacts } from "./types.ts";

/** Which option a call of a picking tool runs with. */
export type Choice =
  /** The tool offers nothing to choose from. */
  | { readonly kind: "none" }
  | { readonly kind: "unbound"; readonly role: string; readonly options: readonly Option[] }
  | { readonly kind: "bound"; readonly role: string; readonly option: Option }
  /** The tool cannot say what it offers. */
  | { readonly kind: "error" };

/** The choice of a call under the bindings of the policy. A binding to what is no longer offered binds nothing. Never throws. */
export function choiceOf(tool: ToolFacts, args: unknown, policy: Policy): Choice {
  if (tool.options === undefined) return { kind: "none" };
  try {
    const options: unknown = tool.options(args);
    const role: unknown = typeof tool.role === "function" ? tool.role(args) : (tool.role ?? tool.name);
    if (!isOptions(options) || typeof role !== "string") return { kind: "error" };
    if (options.length === 0) return { kind: "none" };
    const bound = policy.bindings?.get(role);
    const option = options.find(({ id }) => id === bound);
    return option === undefined ? { kind: "unbound", role, options } : { kind: "bound", role, option };
  } catch {
    return { kind: "error" };
  }
}

function isOptions(options: unknown): options is readonly Option[] {
  return (
    Array.isArray(options) &&
    options.every(
      (option: unknown) =>
        typeof option === "object" &&
        option !== null &&
        "id" in option &&
        typeof option.id === "string" &&
        "label" in option &&
        typeof option.label === "string",
    )
  );
}
