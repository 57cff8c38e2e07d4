/** Where a capability's credential may be sent: hosts, `*.example.com` for every name below one. */
export type AllowedHosts = readonly string[];

const known: Readonly<Record<string, AllowedHosts>> = {
  "llm.anthropic": ["api.anthropic.com"],
  "slack.send": ["slack.com", "*.slack.com"],
  "speech.deepgram": ["api.deepgram.com"],
  "google.oauth": ["oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com", "*.googleapis.com"],
};

/**
 * The hosts of a capability: those that are known for it, and that of `configured`, a base URL that the operator or the
 * secret itself names (a CalDAV server, a proxy of a provider). None for a capability that nobody has said anything about.
 */
export function hostsOf(capability: string, configured?: string): AllowedHosts {
  const own = configured === undefined ? undefined : URL.parse(configured)?.hostname;
  if (own !== undefined && own !== "") return [own];
  return known[capability] ?? [];
}

/** Whether a host is one of these. */
export function isAllowedHost(hosts: AllowedHosts, hostname: string): boolean {
  return hosts.some((host) =>
    host.startsWith("*.")
      ? hostname.endsWith(host.slice(1)) && hostname.length > host.length - 1
      : hostname === host.toLowerCase(),
  );
}

/** Whether a URL's host is this machine by its very spelling, without asking a name server. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
