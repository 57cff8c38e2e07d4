import { createHash } from "node:crypto";
import { buildHeaderValue, encodeWords, foldLines } from "nodemailer/lib/mime-funcs";
import { encode, wrap } from "nodemailer/lib/qp";

/** A mail as a person approves it. */
export interface MailText {
  readonly to: readonly string[];
  readonly cc?: readonly string[] | undefined;
  readonly bcc?: readonly string[] | undefined;
  readonly replyTo?: string | undefined;
  readonly subject: string;
  readonly text: string;
  readonly attachments?: readonly { readonly handle: string; readonly filename: string }[] | undefined;
}

/** What is known only when the mail is sent. */
export interface MailFill {
  readonly from: string;
  readonly date: string;
  readonly messageId: string;
  /** The bytes behind each handle, in base64 without line ends. */
  readonly contentOf: (handle: string) => string;
}

const boundary = "=_countersign";
const lineLength = 76;

/** Everybody the server is told to deliver to, each once. */
export function listRecipients({ to, cc = [], bcc = [] }: Partial<MailText>): string[] {
  return [...new Set([...(to ?? []), ...cc, ...bcc])];
}

/**
 * The message, byte for byte: of the same mail and the same fill always the same. Blind copies are in no header. Line ends
 * of the text become CRLF; nothing of it can end the message, a part or a header.
 */
export function renderMail(mail: MailText, fill: MailFill): Buffer {
  const { attachments = [] } = mail;
  const text = [
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    quotedPrintable(mail.text),
  ];
  const head = [
    `From: ${fill.from}`,
    addressHeader("To", mail.to),
    ...(mail.cc === undefined || mail.cc.length === 0 ? [] : [addressHeader("Cc", mail.cc)]),
    ...(mail.replyTo === undefined ? [] : [`Reply-To: ${mail.replyTo}`]),
    foldLines(`Subject: ${encodeWords(mail.subject, "Q", 52)}`, lineLength),
    `Message-ID: ${fill.messageId}`,
    `Date: ${fill.date}`,
    "MIME-Version: 1.0",
  ];
  if (attachments.length === 0) return Buffer.from([...head, ...text, ""].join("\r\n"));
  const parts = attachments.flatMap(({ handle, filename }) => [
    `--${boundary}`,
    "Content-Type: application/octet-stream",
    "Content-Transfer-Encoding: base64",
    foldLines(`Content-Disposition: ${buildHeaderValue({ value: "attachment", params: { filename } })}`, lineLength),
    "",
    fill.contentOf(handle).replaceAll(/.{76}(?!$)/g, "$&\r\n"),
  ]);
  const lines = [
    ...head,
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    "",
    `--${boundary}`,
    ...text,
    ...parts,
    `--${boundary}--`,
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

/**
 * The sha256, hex, of the message and its envelope as far as they are settled when a person approves: every byte but the
 * values of From, Date and Message-ID, with each attachment's content by its own sha256, and the recipients.
 */
export function digestMail(mail: MailText): string {
  const settled = renderMail(mail, {
    from: "<from>",
    date: "<date>",
    messageId: "<message-id>",
    contentOf: (handle) => handle,
  });
  const envelope = JSON.stringify(listRecipients(mail));
  return createHash("sha256").update(envelope).update("\r\n").update(settled).digest("hex");
}

function addressHeader(name: string, addresses: readonly string[]): string {
  return `${name}: ${addresses.join(",\r\n ")}`;
}

function quotedPrintable(text: string): string {
  return wrap(encode(text.replaceAll(/\r\n|\r|\n/g, "\r\n")), lineLength);
}
