import { recognised } from "@countersign/broker/environment.ts";
import { parseSmtpSettings, smtpFields } from "./mail-settings.ts";

/** What is wrong with a secret. Neither says anything of its value. */
export interface SecretFault {
  /** A field of the secret's JSON; undefined where it is the whole. */
  readonly field: string | undefined;
  /** What is expected there. */
  readonly message: string;
}

/**
 * What would keep a secret from being used for one of the capabilities that are known here; nothing for a capability of
 * somebody's own, whose secrets may be any text.
 */
export function findSecretFaults(capability: string, value: string): SecretFault[] {
  const known = recognised.find((one) => one.capability === capability);
  if (known === undefined) return [];
  const fields = capability === "mail.send" ? smtpFields : known.fields;
  if (fields === undefined) {
    if (/^[\x21-\x7e]+$/.test(value)) return [];
    return [
      whole("expected the key as it is: one word of printable ASCII, without spaces, quotes or a name before it"),
    ];
  }
  const given = readObject(value);
  const optional = fields.optional.length === 0 ? "" : `, and optionally ${fields.optional.join(", ")}`;
  if (given === undefined) return [whole(`expected a JSON object with ${fields.needed.join(", ")}${optional}`)];
  const missing = fields.needed.filter((name) => given[name] === undefined);
  const unfit = capability === "mail.send" ? unfitOfMail(value) : unfitFields(given, fields);
  return [
    ...missing.map((field) => ({ field, message: `is missing; expected ${expectedAs(field)}` })),
    ...unfit
      .filter((field) => !missing.includes(field))
      .map((field) => ({ field, message: `expected ${expectedAs(field)}` })),
  ];
}

function whole(message: string): SecretFault {
  return { field: undefined, message };
}

function readObject(value: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(value);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function unfitOfMail(value: string): readonly string[] {
  const parsed = parseSmtpSettings(value);
  return parsed.kind === "settings" ? [] : parsed.fields;
}

function unfitFields(
  given: Readonly<Record<string, unknown>>,
  { needed, optional }: { readonly needed: readonly string[]; readonly optional: readonly string[] },
): string[] {
  return [...needed, ...optional].filter((field) => given[field] !== undefined && !isFit(field, given[field]));
}

function isFit(field: string, value: unknown): boolean {
  if (field === "port") return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
  if (field === "secure") return typeof value === "boolean";
  if (typeof value !== "string" || value === "") return false;
  return field !== "url" || /^https?:\/\/[^\s/]/.test(value);
}

function expectedAs(field: string): string {
  switch (field) {
    case "host":
    case "imapHost":
      return "a host's name or address, as text";
    case "port":
    case "imapPort":
      return "a whole number from 1 to 65535";
    case "secure":
    case "imapSecure":
      return "true or false, without quotes";
    case "from":
      return "a plain address such as agent@example.org";
    case "url":
      return "an address that begins with https:// or http://";
    case "user (needed with pass)":
    case "pass (needed with user)":
    case "imapUser and imapPass (needed with imapHost)":
      return "both or neither";
    default:
      return "text that is not empty";
  }
}
