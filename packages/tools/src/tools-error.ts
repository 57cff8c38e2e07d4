/** The tools of this configuration cannot be used; the message names each problem and what to do. */
export class ToolsError extends Error {
  override readonly name = "ToolsError";
}
