const connectionCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/** SQLSTATE 08… connection exception, 57P0x the server going down, 40003 statement completion unknown. */
const sqlStateOfTheConnection = /^(08...|57P0.|40003)$/;

/** True for an error of the connection, not of a statement: what had been sent may or may not have been committed. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (connectionCodes.has(code) || sqlStateOfTheConnection.test(code)) return true;
  return isOutcomeUnknown(error.cause);
}
