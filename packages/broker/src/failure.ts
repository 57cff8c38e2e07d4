/** What happened to a request, as far as it may be told. Closed. */
export type FailureCode =
  | "timeout"
  | "aborted"
  | "host_not_found"
  | "unreachable"
  | "connection_lost"
  | "tls_failed"
  | "unauthorized"
  | "not_found"
  | "rate_limited"
  | "refused"
  | "server_failed"
  | "bad_answer"
  | "failed";

/** A library's error in words of ours. Nothing of the error's own text is in it: such texts quote URLs, headers and inputs. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  /** The HTTP status, where the error carries one. */
  readonly status?: number;
  /** The host that was asked, as the caller names it. */
  readonly host?: string;
}

const words: Readonly<Record<FailureCode, string>> = {
  timeout: "did not answer in time",
  aborted: "was not waited for: the call was stopped",
  host_not_found: "was not found by name",
  unreachable: "could not be reached",
  connection_lost: "ended the connection before it had answered",
  tls_failed: "has no certificate that is trusted, or the TLS connection failed",
  unauthorized: "refused the credential",
  not_found: "does not have what was asked for",
  rate_limited: "takes no more requests for now",
  refused: "refused the request",
  server_failed: "failed",
  bad_answer: "answered in a way that could not be read",
  failed: "could not be used",
};

const bySystemCode: Readonly<Record<string, FailureCode>> = {
  ENOTFOUND: "host_not_found",
  EAI_AGAIN: "host_not_found",
  ECONNREFUSED: "unreachable",
  EHOSTUNREACH: "unreachable",
  EHOSTDOWN: "unreachable",
  ENETUNREACH: "unreachable",
  EADDRNOTAVAIL: "unreachable",
  ECONNRESET: "connection_lost",
  ECONNABORTED: "connection_lost",
  EPIPE: "connection_lost",
  ESOCKET: "connection_lost",
  UND_ERR_SOCKET: "connection_lost",
  UND_ERR_CLOSED: "connection_lost",
  UND_ERR_DESTROYED: "connection_lost",
  ETIMEDOUT: "timeout",
  ETIME: "timeout",
  ESOCKETTIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  UND_ERR_ABORTED: "aborted",
  ABORT_ERR: "aborted",
  EPROTO: "tls_failed",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_failed",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_failed",
  UNABLE_TO_GET_ISSUER_CERT: "tls_failed",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_failed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_failed",
  HOSTNAME_MISMATCH: "tls_failed",
  EAUTH: "unauthorized",
};

/**
 * Says what an error of a library means, by its codes, name and status alone, following its causes. `host` is put into the
 * message and must not come from the error.
 */
export function describeFailure(error: unknown, host?: string): Failure {
  const status = findStatus(error);
  const code = (status === undefined ? undefined : codeOfStatus(status)) ?? findCode(error) ?? "failed";
  const who = host ?? "the other side";
  const answered = status === undefined ? "" : ` (HTTP ${status})`;
  return {
    code,
    message: `${who} ${words[code]}${answered}`,
    ...(status === undefined ? {} : { status }),
    ...(host === undefined ? {} : { host }),
  };
}

/** The failure that an HTTP status is; undefined for one that is none. */
function codeOfStatus(status: number): FailureCode | undefined {
  if (status < 400) return undefined;
  if (status === 401 || status === 403 || status === 407) return "unauthorized";
  if (status === 404 || status === 410) return "not_found";
  if (status === 408 || status === 504) return "timeout";
  if (status === 429) return "rate_limited";
  return status >= 500 ? "server_failed" : "refused";
}

function findStatus(error: unknown): number | undefined {
  for (const part of causesOf(error)) {
    for (const field of ["status", "statusCode"]) {
      const value = read(part, field) ?? read(read(part, "response"), field);
      if (typeof value === "number" && Number.isInteger(value) && value >= 400 && value <= 599) return value;
    }
  }
  return undefined;
}

function findCode(error: unknown): FailureCode | undefined {
  for (const part of causesOf(error)) {
    const code = read(part, "code");
    if (typeof code === "string") {
      const known = bySystemCode[code];
      if (known !== undefined) return known;
      if (/^(?:ERR_TLS_|ERR_SSL_|CERT_)/.test(code)) return "tls_failed";
      if (code.startsWith("HPE_")) return "bad_answer";
    }
    const name = read(part, "name");
    if (name === "TimeoutError") return "timeout";
    if (name === "AbortError") return "aborted";
    if (name === "HTTPParserError" || part instanceof SyntaxError) return "bad_answer";
  }
  return undefined;
}

/** The error and what caused it, a few levels deep: causes may go in a circle. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let part = error;
  while (part !== undefined && part !== null && chain.length < 8) {
    chain.push(part);
    part = read(part, "cause");
  }
  const several = chain.flatMap((one) => (one instanceof AggregateError ? one.errors.slice(0, 8) : []));
  return [...chain, ...several];
}

function read(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Reflect.get(value, field);
  } catch {
    return undefined;
  }
}
