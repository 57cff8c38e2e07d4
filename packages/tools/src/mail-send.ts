import { defineTool, type ToolResult } from "@countersign/engine/tool.ts";
import MailComposer from "nodemailer/lib/mail-composer";
import { z } from "zod";
import { findAddressFault } from "./mail-address.ts";
import { deliverMail, type DeliveryOutcome, type SmtpStatus } from "./mail-delivery.ts";
import { parseSmtpSettings, type SmtpSettings } from "./mail-settings.ts";

const capability = "mail.send";
const mostRecipients = 50;

const address = z.string().superRefine((text, context) => {
  const fault = findAddressFault(text);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
});

const subject = z
  .string()
  .min(1)
  .max(250)
  .refine(
    (text) => text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text),
    "a subject is one line without control characters",
  );

const text = z
  .string()
  .min(1)
  .refine(
    (body) => body.isWellFormed() && !/[^\P{Cc}\t\r\n]/u.test(body),
    "a text holds no control characters but tab and line ends",
  );

const schema = z
  .strictObject({
    to: z.array(address).min(1).describe("Plain addresses, one an entry, such as name@example.com"),
    cc: z.array(address).optional(),
    bcc: z.array(address).optional(),
    replyTo: address.optional(),
    subject,
    text: text.describe("The whole message as plain text"),
  })
  .refine(
    (mail) => listRecipients(mail).length <= mostRecipients,
    `at most ${mostRecipients} recipients in one mail`,
  );

type Mail = z.infer<typeof schema>;
type Recipients = { readonly [field in "to" | "cc" | "bcc"]?: readonly string[] | undefined };

/**
 * Sends one plain-text mail through the workspace's own SMTP server. A mail that the server may have
 * taken without saying so is `unknown` and is never sent again by itself; its Message-ID follows from
 * the call's idempotency key, so that it can be looked for.
 */
export const mailSend = defineTool<Mail>({
  name: "mail.send",
  description:
    "Sends a plain-text e-mail from the workspace's address. A person approves each one. Recipients are bare addresses, without names.",
  schema,
  requires: [capability],
  tier: "exec",
  risk: "high",
  needsApproval: true,
  effect: "once",
  timeoutMs: 150_000,
  units: listRecipients,
  details: (mail) => [
    ...mail.to.map((recipient) => `To: ${recipient}`),
    ...(mail.cc ?? []).map((recipient) => `Cc: ${recipient}`),
    ...(mail.bcc ?? []).map((recipient) => `Bcc: ${recipient}`),
    ...(mail.replyTo === undefined ? [] : [`Reply-To: ${mail.replyTo}`]),
    `Subject: ${mail.subject}`,
    `Text: ${mail.text.length} characters`,
  ],
  async execute(mail, context) {
    const handle = await context.acquire(capability);
    return handle.use(async (secret) => {
      const parsed = parseSmtpSettings(secret);
      if (parsed.kind === "unusable") return settingsFailure(parsed.fields);
      const { settings } = parsed;
      const messageId = messageIdOf(context.idempotencyKey, settings.from);
      const message = await composeMessage(mail, settings.from, messageId);
      const recipients = listRecipients(mail);
      const outcome = await deliverMail(
        settings,
        { from: settings.from, recipients, message },
        context.signal,
      );
      return describeOutcome(outcome, settings, recipients, messageId);
    });
  },
});

/** Everybody the server is told to deliver to, each once. */
function listRecipients({ to = [], cc = [], bcc = [] }: Recipients): string[] {
  return [...new Set([...to, ...cc, ...bcc])];
}

function messageIdOf(idempotencyKey: string, from: string): string {
  if (!/^[A-Za-z0-9-]{8,64}$/.test(idempotencyKey)) {
    throw new Error(
      `The idempotency key ${JSON.stringify(idempotencyKey)} cannot be part of a Message-ID; letters, digits and - are expected.`,
    );
  }
  return `<${idempotencyKey}@${from.slice(from.indexOf("@") + 1)}>`;
}

async function composeMessage(mail: Mail, from: string, messageId: string): Promise<Buffer> {
  const composer = new MailComposer({
    from: plainAddress(from),
    to: mail.to.map(plainAddress),
    cc: (mail.cc ?? []).map(plainAddress),
    replyTo: mail.replyTo === undefined ? [] : [plainAddress(mail.replyTo)],
    subject: mail.subject,
    text: mail.text,
    messageId,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** As an object the library takes the address for one address instead of parsing a list out of it. */
function plainAddress(plain: string): { name: string; address: string } {
  return { name: "", address: plain };
}

function settingsFailure(fields: readonly string[]): ToolResult {
  return {
    kind: "failed",
    code: "error",
    content: `mail not sent (settings_unusable): the secret of ${capability} should be JSON with host, port, from and optionally secure, user and pass; not usable: ${fields.join(", ")}. An administrator has to set it again.`,
  };
}

const faultTexts = {
  host_not_found: "the mail server's name was not found",
  unreachable: "the mail server could not be reached or ended the connection",
  timeout: "the mail server did not answer in time",
  tls_failed: "no trusted TLS connection to the mail server came about",
  aborted: "the call was stopped",
  bad_answer: "the mail server answered in a way that is not SMTP",
  session_refused: "the mail server would not go on",
  login_refused: "the mail server refused the login",
  sender_refused: "the mail server refused the sender's address",
  recipients_refused: "the mail server refused every recipient",
  message_refused: "the mail server refused the message",
} as const;

function describeOutcome(
  outcome: DeliveryOutcome,
  settings: SmtpSettings,
  recipients: readonly string[],
  messageId: string,
): ToolResult {
  const server = `${settings.host}:${settings.port}`;
  switch (outcome.kind) {
    case "taken": {
      const refused = new Set(outcome.refused.map((refusal) => refusal.address));
      const lines = [
        `mail accepted by ${server} for ${recipients.filter((recipient) => !refused.has(recipient)).join(", ")}`,
      ];
      for (const refusal of outcome.refused)
        lines.push(`refused for ${refusal.address}${statusText(refusal.status)}`);
      return { kind: "done", content: [...lines, `Message-ID ${messageId}`].join("\n") };
    }
    case "not_sent": {
      const { fault, status } = outcome;
      const advice =
        status.reply !== undefined && status.reply < 500 ? " The refusal is temporary." : "";
      return {
        kind: "failed",
        code: fault === "timeout" ? "timeout" : "error",
        content: `mail not sent (${fault}): ${faultTexts[fault]}, ${server}${statusText(status)}. Nobody received it.${advice}`,
      };
    }
    case "unknown":
      return {
        kind: "unknown",
        content: `mail perhaps sent (${outcome.fault}): ${faultTexts[outcome.fault]}, ${server}, after it had begun to take the message. Look for Message-ID ${messageId} among the sent mails, or ask a recipient, before sending again.`,
      };
  }
}

function statusText({ reply, enhanced }: SmtpStatus): string {
  if (reply === undefined) return "";
  return ` (SMTP ${reply}${enhanced === undefined ? "" : ` ${enhanced}`})`;
}
