import type { Canary } from "./canary-oracle.ts";

/** Odd enough that every form of it is another, and that no two share a part. */
const odd = (word: string): string => `c4nary ${word} "q\\/+ü=${Buffer.from(word).toString("hex")}&\n~`;

/** What opens what, in the tests of what leaks. None of it is ever typed by a person. */
export const canaryValues = {
  mailPass: odd("mail"),
  /** As short as a secret may be. */
  hook: 'k/+" ü~8',
  own: odd("own"),
  environment: "xoxb-c4nary-of-the-environment",
} as const;

export const canaries: readonly Canary[] = Object.entries(canaryValues).map(([name, value]) => ({ name, value }));
