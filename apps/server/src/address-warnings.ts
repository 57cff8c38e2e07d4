import type { ServerConfig } from "./config.ts";

/**
 * What an operator should know of where the server is reached, in sentences that name the variable to set; nothing where
 * all is well.
 */
export function addressWarnings({ host, publicUrl }: Pick<ServerConfig, "host" | "publicUrl">): string[] {
  if (publicUrl === undefined) {
    if (isLoopback(host)) return [];
    return [
      `HOST is ${host} and PUBLIC_URL is not set: a request that names any host but 127.0.0.1, localhost or [::1] is refused with 403 host_not_allowed. Set PUBLIC_URL to the address at which browsers and programs reach this server.`,
    ];
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === "https:" || isLoopback(hostname)) return [];
  return [
    `PUBLIC_URL is ${publicUrl}: over http: tokens and cookies go unencrypted, and whoever is on the way can read them. Put a proxy that speaks TLS in front of this server and set PUBLIC_URL to its https: address.`,
  ];
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
