import { Refusal } from "@countersign/db/refusal.ts";

/** Why the broker could not do what was asked. Closed: callers may switch over it. */
export type BrokerErrorCode =
  | "secret_too_short"
  | "secret_not_text"
  | "secret_unreadable"
  | "key_unknown"
  | "key_missing"
  | "key_invalid"
  | "key_retired"
  | "key_file_exposed";

/** Thrown where the caller cannot continue. The message is for the operator and never holds a secret or key. */
export class BrokerError extends Refusal {
  override readonly name = "BrokerError";
  readonly code: BrokerErrorCode;

  constructor(code: BrokerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
