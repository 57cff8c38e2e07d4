import { Refusal } from "@countersign/db/refusal.ts";

export type EngineErrorCode =
  | "unknown_run"
  | "unknown_scope"
  | "unknown_definition"
  | "invalid_definition"
  | "invalid_tools"
  | "invalid_policy"
  | "invalid_prompt"
  | "unknown_scenario"
  | "repeated_approval"
  | "invalid_model_output"
  | "model_unavailable"
  | "model_refused"
  | "model_cut_off"
  | "prompt_too_long";

/** The caller cannot go on: what was asked for cannot be, and the message says what was found and what to do. */
export class EngineError extends Refusal {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
