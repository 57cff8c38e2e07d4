import type { EmbeddingsSettings } from "./embeddings.ts";

/** The variables that switch vectors on, as server, worker and command line have them; an empty one counts as absent. */
export interface EmbeddingsVariables {
  readonly COUNTERSIGN_EMBEDDINGS_URL?: string | undefined;
  readonly COUNTERSIGN_EMBEDDINGS_MODEL?: string | undefined;
  readonly COUNTERSIGN_EMBEDDINGS_KEY?: string | undefined;
}

export type EmbeddingsChoice =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly settings: EmbeddingsSettings }
  | { readonly kind: "refused"; readonly problems: readonly EmbeddingsProblem[] };

/** `message` repeats no value. */
export interface EmbeddingsProblem {
  readonly variable: string;
  readonly message: string;
}

const names = {
  url: "COUNTERSIGN_EMBEDDINGS_URL",
  model: "COUNTERSIGN_EMBEDDINGS_MODEL",
  key: "COUNTERSIGN_EMBEDDINGS_KEY",
} as const;

/** Where embeddings come from: nowhere unless address and model are set. Lists every problem. */
export function chooseEmbeddings(variables: EmbeddingsVariables): EmbeddingsChoice {
  const url = variables[names.url] || undefined;
  const model = variables[names.model] || undefined;
  const key = variables[names.key] || undefined;
  if (url === undefined && model === undefined && key === undefined) return { kind: "off" };
  const problems: EmbeddingsProblem[] = [];
  const address = url === undefined ? undefined : readAddress(url);
  if (url === undefined)
    problems.push({ variable: names.url, message: "goes with the other COUNTERSIGN_EMBEDDINGS_ variables" });
  else if (address === undefined)
    problems.push({ variable: names.url, message: "expected https://host/v1/embeddings, without a login in it" });
  if (model === undefined)
    problems.push({ variable: names.model, message: "goes with the other COUNTERSIGN_EMBEDDINGS_ variables" });
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    problems.push({ variable: names.key, message: "expected letters, digits and signs of ASCII, without blanks" });
  if (key !== undefined && address !== undefined && !isSafeForKey(address))
    problems.push({ variable: names.key, message: "is sent over https only, or to this machine" });
  if (problems.length > 0 || url === undefined || model === undefined) return { kind: "refused", problems };
  return { kind: "on", settings: { url, model, key } };
}

function readAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return url;
}

function isSafeForKey({ protocol, hostname }: URL): boolean {
  return (
    protocol === "https:" || hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname)
  );
}
