import { lookup as resolve } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/** Networks that are nobody's on the public internet: private, loopback, link-local, shared, reserved, multicast. */
const notPublic = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  notPublic.addSubnet(network, bits, "ipv4");

/** Of IPv6 only global unicast is public, without what leads elsewhere: Teredo, ORCHID, documentation, 6to4. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet("2000::", 3, "ipv6");
for (const [network, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  notPublic.addSubnet(network, bits, "ipv6");

/** Whether an IP address, as text, is one of the public internet. An IPv4 address inside an IPv6 one is not. */
export function isPublicAddress(address: string): boolean {
  const plain = address.split("%", 1)[0] ?? "";
  const family = isIP(plain);
  if (family === 4) return !notPublic.check(plain, "ipv4");
  if (family === 6) return globalUnicast.check(plain, "ipv6") && !notPublic.check(plain, "ipv6");
  return false;
}

export type TargetCheck =
  | { readonly kind: "allowed"; readonly url: URL; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: "refused"; readonly message: string }
  /** The name leads nowhere just now. */
  | { readonly kind: "unresolved"; readonly message: string };

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface TargetOptions {
  /** True lets plain HTTP and private addresses pass, for an installation that talks within its own network. */
  readonly mayBePrivate: boolean;
  /** All addresses of a name; the system's own unless stated. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>;
}

/**
 * Whether a request may be sent to `text`: an https URL without a login, all of whose addresses are public. Names that
 * resolve to several addresses are refused for one bad one. Connect to the addresses it returns and no others: asked
 * again, the name may lead elsewhere.
 */
export async function checkTarget(text: string, options: TargetOptions): Promise<TargetCheck> {
  const { mayBePrivate } = options;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return refused("it is no http or https URL");
  if (url.username !== "" || url.password !== "") return refused("it holds a login");
  if (url.protocol === "http:" && !mayBePrivate) return refused("it is not https");
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const family = isIP(name);
  const addresses = family === 0 ? await resolveAll(name, options) : [{ address: name, family }];
  if (addresses.length === 0) return { kind: "unresolved", message: `the name ${url.hostname} has no address` };
  if (!mayBePrivate && !addresses.every(({ address }) => isPublicAddress(address)))
    return refused(`${url.hostname} is, or resolves to, an address that is not public`);
  return { kind: "allowed", url, addresses };
}

async function resolveAll(
  name: string,
  { resolve: ask = async (of) => await resolve(of, { all: true }) }: TargetOptions,
): Promise<readonly ResolvedAddress[]> {
  try {
    return await ask(name);
  } catch {
    return [];
  }
}

function refused(message: string): TargetCheck {
  return { kind: "refused", message };
}
