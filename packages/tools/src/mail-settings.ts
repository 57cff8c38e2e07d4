import { z } from "zod";
import { findAddressFault } from "./mail-address.ts";

/** How this workspace sends mail: what the secret of `mail.send` says. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; else the connection is upgraded with STARTTLS. */
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly pass: string } | undefined;
  readonly from: string;
  /** Where the mails that were sent can be looked at; undefined where nowhere is said. */
  readonly imap: ImapSettings | undefined;
}

/** The mailbox in which the server keeps what it sent. */
export interface ImapSettings {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly pass: string };
  /** The folder of sent mails; unless stated the one that the server marks as such. */
  readonly sentFolder: string | undefined;
}

export type SettingsOutcome =
  | { readonly kind: "settings"; readonly settings: SmtpSettings }
  /** `fields` are names of ours, never anything the secret holds. */
  | { readonly kind: "unusable"; readonly fields: readonly string[] };

const host = z.string().regex(/^[A-Za-z0-9.:-]{1,253}$/);

const fields = {
  host,
  port: z.int().min(1).max(65_535),
  secure: z.boolean().optional(),
  user: z.string().min(1).optional(),
  pass: z.string().min(1).optional(),
  from: z.string().refine((text) => findAddressFault(text) === undefined),
  imapHost: host.optional(),
  imapPort: z.int().min(1).max(65_535).optional(),
  imapSecure: z.boolean().optional(),
  imapUser: z.string().min(1).optional(),
  imapPass: z.string().min(1).optional(),
  sentFolder: z.string().min(1).optional(),
};

/** The fields of the secret's JSON, those that it may lack apart. */
export const smtpFields = {
  needed: ["host", "port", "from"],
  optional: Object.keys(fields).filter((name) => !["host", "port", "from"].includes(name)),
};

/**
 * Reads the secret's JSON: host, port, from, and optionally secure (true on port 465 unless stated),
 * user and pass; with imapHost also imapPort (993), imapSecure (true on 993), sentFolder, and imapUser with imapPass where
 * they differ from user and pass. What does not fit is told by field name only, since messages of a parser quote its input.
 */
export function parseSmtpSettings(secret: string): SettingsOutcome {
  let value: unknown;
  try {
    value = JSON.parse(secret);
  } catch {
    return { kind: "unusable", fields: ["the JSON itself"] };
  }
  const parsed = z.object(fields).safeParse(value);
  if (!parsed.success) {
    const named = parsed.error.issues.map((issue) => String(issue.path[0] ?? "the JSON itself"));
    return { kind: "unusable", fields: [...new Set(named)] };
  }
  const { host, port, secure, user, pass, from } = parsed.data;
  if ((user === undefined) !== (pass === undefined)) {
    return {
      kind: "unusable",
      fields: [user === undefined ? "user (needed with pass)" : "pass (needed with user)"],
    };
  }
  const login = user !== undefined && pass !== undefined ? { user, pass } : undefined;
  const imap = imapOf(parsed.data, login);
  if (imap === "no_login") return { kind: "unusable", fields: ["imapUser and imapPass (needed with imapHost)"] };
  return {
    kind: "settings",
    settings: { host, port, secure: secure ?? port === 465, login, from, imap },
  };
}

function imapOf(
  { imapHost, imapPort = 993, imapSecure, imapUser, imapPass, sentFolder }: z.infer<z.ZodObject<typeof fields>>,
  login: SmtpSettings["login"],
): ImapSettings | "no_login" | undefined {
  if (imapHost === undefined) return undefined;
  const isOwn = imapUser !== undefined || imapPass !== undefined;
  if (isOwn && (imapUser === undefined || imapPass === undefined)) return "no_login";
  const imapLogin = imapUser !== undefined && imapPass !== undefined ? { user: imapUser, pass: imapPass } : login;
  if (imapLogin === undefined) return "no_login";
  return { host: imapHost, port: imapPort, secure: imapSecure ?? imapPort === 993, login: imapLogin, sentFolder };
}

/** Whether a host is this machine by its very spelling, without asking a name server. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
