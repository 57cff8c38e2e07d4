/** With what the classifier is measured; `key` is undefined where none is at hand. */
export interface CanaryConfig {
  readonly key: string | undefined;
  readonly baseUrl: string;
  readonly model: string;
}

export function readCanaryConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CanaryConfig {
  return {
    key: environment["ANTHROPIC_API_KEY"],
    baseUrl: environment["ANTHROPIC_BASE_URL"] ?? "https://api.anthropic.com",
    model: environment["CLASSIFIER_MODEL"] ?? "claude-haiku-4-5",
  };
}
