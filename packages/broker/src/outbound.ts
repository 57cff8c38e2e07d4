import { isAllowedHost, isLoopbackHost, type AllowedHosts } from "./destinations.ts";
import { describeFailure, type Failure } from "./failure.ts";

/** A request without its credential. */
export interface OutboundRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

export interface OutboundOptions {
  /** Where the credential may go (`hostsOf`). */
  readonly hosts: AllowedHosts;
  /** The credential as headers, such as `{ authorization: "Bearer …" }`. */
  readonly inject: (secret: string) => Readonly<Record<string, string>>;
  /** How many redirects are followed; 5 unless stated. */
  readonly maxRedirects?: number;
  /** Sends one request and follows no redirect; the platform's own fetch unless stated, which goes anywhere that resolves. */
  readonly send?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What lends a credential: a handle, as the broker opens it. */
export interface Lender {
  use<T>(body: (secret: string) => Promise<T>): Promise<T>;
}

export type OutboundOutcome =
  /** Any status; `hasCredential` is false where a redirect left the origin that it was for. */
  | { readonly kind: "answered"; readonly response: Response; readonly url: string; readonly hasCredential: boolean }
  | { readonly kind: "refused"; readonly code: RefusedCode; readonly message: string }
  | { readonly kind: "failed"; readonly failure: Failure };

export type RefusedCode =
  | "url_invalid"
  | "credential_unusable"
  | "host_not_allowed"
  | "tls_required"
  | "redirect_invalid"
  | "redirect_insecure"
  | "too_many_redirects";

/** Headers that belong to an origin and go to no other. */
const ofOrigin = new Set(["authorization", "cookie", "cookie2", "proxy-authorization", "host", "origin", "referer"]);

/**
 * Sends a request with a credential, to an allowed host and over TLS only, this machine excepted; elsewhere nothing is
 * sent. Redirects are followed by hand: within the origin with the credential, beyond it without, for good, and without
 * the caller's own origin-bound headers; never from TLS to plain. Errors of the library are told in words of ours.
 * Rejects only where the handle's lease is gone.
 */
export async function sendWithCredential(
  handle: Lender,
  request: OutboundRequest,
  options: OutboundOptions,
): Promise<OutboundOutcome> {
  const url = URL.parse(request.url);
  const fault = url === null ? refused("url_invalid", "the URL cannot be read") : checkDestination(url, options.hosts);
  if (url === null || fault !== undefined) return fault ?? refused("url_invalid", "the URL cannot be read");
  return handle.use(async (secret) => {
    const credential = options.inject(secret);
    const headers = withCredential(request.headers ?? {}, credential);
    if (headers === undefined)
      return refused("credential_unusable", "the request's headers or the credential cannot be sent as HTTP headers");
    return await followRedirects(url, request, options, headers, Object.keys(credential));
  });
}

interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: OutboundRequest["body"];
  readonly hasCredential: boolean;
}

async function followRedirects(
  url: URL,
  request: OutboundRequest,
  options: OutboundOptions,
  headers: Headers,
  injected: readonly string[],
): Promise<OutboundOutcome> {
  const { maxRedirects = 5, send = fetch } = options;
  let hop: Hop = {
    url,
    method: (request.method ?? "GET").toUpperCase(),
    headers,
    body: request.body,
    hasCredential: true,
  };
  for (let redirects = 0; ; redirects += 1) {
    let response: Response;
    try {
      response = await send(hop.url.href, {
        method: hop.method,
        headers: hop.headers,
        redirect: "manual",
        ...(hop.body === undefined ? {} : { body: hop.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      return { kind: "failed", failure: describeFailure(error, hop.url.hostname) };
    }
    const location = isRedirect(response.status) ? response.headers.get("location") : null;
    if (location === null) return { kind: "answered", response, url: hop.url.href, hasCredential: hop.hasCredential };
    await response.body?.cancel().catch(() => undefined);
    if (redirects >= maxRedirects)
      return refused("too_many_redirects", `${url.hostname} redirects more than ${maxRedirects} times`);
    const next = nextHop(hop, response.status, location, injected);
    if ("kind" in next) return next;
    hop = next;
  }
}

function checkDestination(url: URL, hosts: AllowedHosts): OutboundOutcome | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return refused("url_invalid", `a credential is sent over http and https only, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    return refused("url_invalid", "the URL holds a login of its own, which is not sent beside a credential");
  if (!isAllowedHost(hosts, url.hostname))
    return refused(
      "host_not_allowed",
      `the credential is not for ${url.hostname}; it is for ${hosts.join(", ") || "no host"}`,
    );
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname))
    return refused("tls_required", `the credential is sent to ${url.hostname} over https only`);
  return undefined;
}

function nextHop(
  hop: Hop,
  status: number,
  location: string,
  injected: readonly string[],
): Hop | Extract<OutboundOutcome, { kind: "refused" }> {
  const url = URL.parse(location, hop.url.href);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return refused("redirect_invalid", `${hop.url.hostname} redirects to what is no http or https URL`);
  if (url.protocol === "http:" && hop.url.protocol === "https:")
    return refused("redirect_insecure", `${hop.url.hostname} redirects from https to http`);
  const isSameOrigin = url.origin === hop.url.origin && url.username === "" && url.password === "";
  url.username = "";
  url.password = "";
  const headers = new Headers(hop.headers);
  if (!isSameOrigin) for (const name of [...ofOrigin, ...injected]) headers.delete(name);
  // As browsers do: a form that was answered with "see there" is not sent again.
  const becomesGet =
    (status === 303 && hop.method !== "HEAD") || ((status === 301 || status === 302) && hop.method === "POST");
  if (becomesGet) for (const name of ["content-type", "content-length", "content-encoding"]) headers.delete(name);
  return {
    url,
    method: becomesGet ? "GET" : hop.method,
    headers,
    body: becomesGet ? undefined : hop.body,
    hasCredential: hop.hasCredential && isSameOrigin,
  };
}

function withCredential(
  headers: Readonly<Record<string, string>>,
  credential: Readonly<Record<string, string>>,
): Headers | undefined {
  try {
    const all = new Headers(headers);
    for (const [name, value] of Object.entries(credential)) all.set(name, value);
    return all;
  } catch {
    // The error quotes the value that it does not like.
    return undefined;
  }
}

function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

function refused(code: RefusedCode, message: string): Extract<OutboundOutcome, { kind: "refused" }> {
  return { kind: "refused", code, message };
}
