import { cleanEnvironment, type Environment } from "@countersign/broker/environment.ts";

const secretName = /API|KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|AUTH/i;
const sshName = /^SSH_/i;

/** A URL with a login in it, such as a database's. */
const urlWithLogin = /(?<![a-z0-9+.-])[0-9+.-]*[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+@/i;

/**
 * The environment that a command may see: without names that sound like secrets, without variables that hold connectors'
 * secrets whatever their name, without values that are URLs with a login, and without everything `SSH_`. `allowlist` brings
 * back variables that exist, but none of `SSH_`; it cannot invent one.
 */
export function commandEnvironment(
  environment: Environment,
  allowlist: readonly string[] = [],
): Readonly<Record<string, string>> {
  const allowed = new Set(allowlist);
  const clean = cleanEnvironment(environment);
  const shown = Object.entries(environment).filter(([name, value]) => {
    if (value === undefined || sshName.test(name)) return false;
    if (allowed.has(name)) return true;
    return clean[name] !== undefined && !secretName.test(name) && !urlWithLogin.test(value);
  });
  return Object.fromEntries(shown as [string, string][]);
}
