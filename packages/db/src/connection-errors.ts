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

/**
 * SQLSTATE 53… no disk, memory or connection left, 25006 not the primary any more, 57014 a statement that somebody or a
 * timeout canceled, 40001 and 40P01 a conflict with others.
 */
const sqlStateOfTheMoment = /^(53...|25006|57014|40001|40P01)$/;

/** True for an error of the connection, not of a statement: what had been sent may or may not have been committed. */
export function isOutcomeUnknown(error: unknown): boolean {
  return hasCode(error, (code) => connectionCodes.has(code) || sqlStateOfTheConnection.test(code));
}

/** True for an error that the same statement need not meet a while later: of the connection, or of a database in trouble. */
export function passesByItself(error: unknown): boolean {
  return isOutcomeUnknown(error) || hasCode(error, (code) => sqlStateOfTheMoment.test(code));
}

function hasCode(error: unknown, isMeant: (code: string) => boolean): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return isMeant(code) || hasCode(error.cause, isMeant);
}
