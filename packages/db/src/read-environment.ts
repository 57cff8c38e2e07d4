import { Refusal } from "./refusal.ts";

/** The environment cannot be used as it is; the message lists every problem. It repeats no value, since some are secret. */
export class ConfigError extends Refusal {
  override readonly name = "ConfigError";
}

/** What a schema says of an environment, as zod does. */
interface EnvironmentSchema<T> {
  safeParse(given: object):
    | { readonly success: true; readonly data: T }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
        };
      };
}

/** The environment of a program (`server`) as its schema has it; an empty variable counts as absent. Throws ConfigError with all problems at once. */
export function readEnvironment<T>(
  schema: EnvironmentSchema<T>,
  environment: Readonly<Record<string, string | undefined>>,
  program: string,
): T {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = path.join(".");
    return `${name}: ${given[name] === undefined ? "is not set; " : ""}${message}`;
  });
  throw unusable(program, problems);
}

/** The refusal of an environment, with its problems, each of which begins with the variable's name. */
export function unusable(program: string, problems: readonly string[]): ConfigError {
  const lines = problems.map((problem) => `  ${problem}`).join("\n");
  return new ConfigError(
    `The ${program} cannot start with this environment:\n${lines}\nSet these variables and start again.`,
  );
}

/** The entries of a variable that is a list, separated by commas. */
export function listOf(text = ""): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}
