/** What was looked at. `warn` works, and could be better; `bad` does not work. */
export interface Finding {
  readonly about: string;
  readonly state: "ok" | "warn" | "bad";
  readonly found: string;
  readonly advice?: string;
}
