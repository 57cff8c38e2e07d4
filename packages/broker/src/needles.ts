import { expose } from "./expose.ts";

/** A secret value that may not leave, under the name that takes its place. */
export interface HeldValue {
  /** The secret's name, or another word for it, such as `database password`. */
  readonly name: string;
  readonly value: string;
}

/** A text to look for. */
export interface Needle {
  readonly text: string;
  readonly name: string;
}

/** Shorter values cannot be taken out of ordinary text without harming it. */
export const shortestNeedle = 8;

/** Fields of a secret's JSON that say where and how, not what opens. */
const publicFields = new Set([
  "auth_uri",
  "expires_at",
  "from",
  "host",
  "name",
  "port",
  "redirect_uri",
  "redirect_uris",
  "scope",
  "scopes",
  "secure",
  "server",
  "token_type",
  "token_uri",
  "type",
  "url",
]);

/**
 * Every form of these values that a text could show: raw, escaped as JSON once and twice, URL-encoded, as hex, also in
 * groups, as base64 in both alphabets and at each alignment, and as `expose` reads it; of a value that is JSON, also of
 * each string in it, except in fields that say where rather than what. Values under 8 characters have none.
 */
export function needlesOf(values: Iterable<HeldValue>): Needle[] {
  const needles = new Map<string, Needle>();
  for (const { name, value } of values) {
    for (const secret of [value, ...innerValues(value)]) {
      if (Array.from(secret).length < shortestNeedle) continue;
      for (const text of formsOf(secret)) {
        if (text.length >= shortestNeedle && !needles.has(text)) needles.set(text, { text, name });
      }
    }
  }
  return [...needles.values()];
}

/**
 * The strings inside a secret that is JSON. One that also stands in a public field is public, such as an address that is both
 * login and sender.
 */
function innerValues(value: string): string[] {
  if (!/^\s*[[{]/.test(value)) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return [];
  }
  const known = new Set<string>();
  const found: string[] = [];
  collect(parsed, false);
  return found.filter((text) => !known.has(text));

  function collect(part: unknown, isPublic: boolean): void {
    if (typeof part === "string") {
      if (isPublic) known.add(part);
      else found.push(part);
    } else if (typeof part === "object" && part !== null) {
      for (const [field, inner] of Object.entries(part)) collect(inner, isPublic || publicFields.has(field));
    }
  }
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const hex = bytes.toString("hex");
  const lines = secret.replace(/\r?\n/g, "\r\n");
  const texts = [secret, ...(lines === secret ? [] : [lines])];
  return [
    ...texts.flatMap((text) => [text, ...jsonForms(text), ...urlForms(text)]),
    ...[...texts, secret.replaceAll(" ", "+")].flatMap((text) => expose(text)?.text ?? []),
    ...hexForms(hex),
    ...hexForms(hex.toUpperCase()),
    ...base64Forms(bytes),
  ];
}

function jsonForms(text: string): string[] {
  const once = escapeJson(text);
  const ascii = escapeNonAscii(once);
  const slashed = [once, ascii, ascii.replace(/\\u[0-9a-f]{4}/g, upperEscape)];
  const forms = slashed.flatMap((form) => [form, form.replaceAll("/", "\\/")]);
  return [...forms, ...forms.map(escapeJson)];
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escapeNonAscii(text: string): string {
  return text.replace(/[^\u0000-\u007f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function upperEscape(escape: string): string {
  return `\\u${escape.slice(2).toUpperCase()}`;
}

function urlForms(text: string): string[] {
  // A lone half of a surrogate pair has no URL form; stored secrets are well-formed, other values need not be.
  if (!text.isWellFormed()) return [];
  const component = encodeURIComponent(text);
  const strict = component.replace(/[!'()*]/g, percent);
  const form = strict.replaceAll("%20", "+");
  // What a browser's form and URLSearchParams write: it encodes the tilde, and no asterisk.
  const search = new URLSearchParams({ v: text }).toString().slice("v=".length);
  const path = encodeURI(text);
  const all = [component, strict, form, search, path, text.replaceAll(" ", "+")];
  return all.flatMap((encoded) => [encoded, encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function percent(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** As it stands, and in groups of one byte and of two, wherever those begin. */
function hexForms(hex: string): string[] {
  const pairs = hex.match(/../g) ?? [];
  const inTwos = [0, 1].map((odd) => pairs.map((pair, n) => (n > 0 && n % 2 === odd ? ` ${pair}` : pair)).join(""));
  return [hex, pairs.join(" "), pairs.join(":"), ...inTwos];
}

/** At each alignment the characters that depend on the secret alone. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    const text = encoded.slice(first, last);
    return [text, text.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
