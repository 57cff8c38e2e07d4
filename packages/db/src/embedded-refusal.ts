import { Refusal } from "./refusal.ts";

export type EmbeddedRefusalCode =
  | "unsupported_platform"
  | "not_installed"
  | "initdb_failed"
  | "start_failed"
  | "stop_failed";

/** The embedded server cannot be used here; the message says why and what to do instead. */
export class EmbeddedRefusal extends Refusal {
  override readonly name = "EmbeddedRefusal";
  readonly code: EmbeddedRefusalCode;
  constructor(code: EmbeddedRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
