/**
 * A dot-atom of RFC 5321 without `%` and `!`, which old relays read as routes to somewhere else, and without `=`, with which
 * an address can look like a credential that is left out of what is shown.
 */
const localPart = /^[A-Za-z0-9#$&'*+/?^_`{|}~-]+(?:\.[A-Za-z0-9#$&'*+/?^_`{|}~-]+)*$/;
const domainLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const longestAddress = 254;
const longestLocalPart = 64;

/**
 * What is wrong with `text` as one plain mail address, or undefined when nothing is. Only ASCII passes:
 * no display name, list, group, comment, quoting, line break, address literal or look-alike letter, so
 * what a person reads on the card is what the mail server is told. International domains are written
 * with `xn--`.
 */
export function findAddressFault(text: string): string | undefined {
  const shown = `"${text.slice(0, 80).replace(/[^\x20-\x7e]/gu, (odd) => `\\u{${hexOf(odd)}}`)}"`;
  if (text.length > longestAddress) return `${shown} is longer than the ${longestAddress} characters of an address`;
  const odd = /[^\x21-\x7e]/u.exec(text)?.[0];
  if (odd !== undefined) {
    return `${shown} holds the character U+${hexOf(odd).padStart(4, "0")}; an address is plain ASCII without spaces (write international domains with xn--)`;
  }
  const parts = text.split("@");
  const [local, domain] = parts;
  if (parts.length !== 2 || local === undefined || domain === undefined) {
    return `${shown} is not one plain address such as name@example.com`;
  }
  if (local.length > longestLocalPart || !localPart.test(local)) {
    return `${shown} has a part before the @ that is not plain; give the bare address, without name, brackets or list`;
  }
  return findDomainFault(domain, shown);
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
}

function findDomainFault(domain: string, shown: string): string | undefined {
  const labels = domain.split(".");
  const last = labels.at(-1) ?? "";
  if (labels.length < 2 || !labels.every((label) => domainLabel.test(label))) {
    return `${shown} has a part after the @ that is not a full domain name`;
  }
  if (!/[A-Za-z]/.test(last)) return `${shown} names a number after the @, not a domain`;
  return undefined;
}
