import { setTimeout as delay } from "node:timers/promises";
import { readShownDetails } from "@countersign/engine/shown-details.ts";
import { defineTool, type OutsideContext, type ToolResult } from "@countersign/engine/tool.ts";
import { z } from "zod";
import { findAddressFault } from "./mail-address.ts";
import { readAttachments } from "./mail-attachments.ts";
import { deliverMail } from "./mail-delivery.ts";
import { digestMail, listRecipients, renderMail } from "./mail-message.ts";
import { describeDelivery } from "./mail-outcome.ts";
import { findSent } from "./mail-sent.ts";
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

const attachment = z.strictObject({
  handle: z.string().regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 hexadecimal digits, as a result gave it"),
  filename: z
    .string()
    .min(1)
    .max(150)
    .refine(
      (name) => name.isWellFormed() && !/[\p{Cc}\u2028\u2029/\\]/u.test(name),
      "a file name is one line without / and \\",
    ),
});

const schema = z
  .strictObject({
    to: z.array(address).min(1).describe("Plain addresses, one an entry, such as name@example.com"),
    cc: z.array(address).optional(),
    bcc: z.array(address).optional(),
    replyTo: address.optional(),
    subject,
    text: text.describe("The whole message as plain text"),
    attachments: z.array(attachment).max(20).optional().describe("Stored files, by the handle that a result gave"),
  })
  .refine((mail) => listRecipients(mail).length <= mostRecipients, `at most ${mostRecipients} recipients in one mail`);

type Mail = z.infer<typeof schema>;

/** How long to wait before each look for a mail of which the server did not say that it took it. */
const looksAfterMs = [0, 2_000, 5_000];

/**
 * Sends one plain-text mail through the workspace's own SMTP server. The card shows the envelope and the hash of the
 * message; one that would come out otherwise than approved is not sent. A mail that the server may have taken without
 * saying so is looked for among the sent ones; not found it is `unknown`, and never sent again by itself. Its Message-ID
 * follows from the call's idempotency key.
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
    "From: the address in the workspace's secret of mail.send",
    `Subject: ${mail.subject}`,
    `Text: ${mail.text.length} characters`,
    ...(mail.attachments ?? []).map(({ handle, filename }) => `Attachment: ${filename} (${handle})`),
    digestLine(mail),
  ],
  async execute(mail, context) {
    const { callId, idempotencyKey, signal } = context;
    const shown = await context.read((tx) => readShownDetails(tx, callId));
    if (shown !== undefined && !shown.includes(digestLine(mail))) {
      return notSent(
        "message_changed",
        "the message would not come out as it was approved, since this version writes it otherwise. Ask for it again.",
      );
    }
    const attachments = await readAttachments(context, mail.attachments ?? []);
    if (attachments.kind === "unusable") return notSent("attachment_unusable", `${attachments.problem}.`);
    return await withSettings(context, async (settings) => {
      const messageId = messageIdOf(idempotencyKey, settings.from);
      const message = renderMail(mail, {
        from: settings.from,
        messageId,
        date: new Date().toUTCString().replace("GMT", "+0000"),
        contentOf: (handle) => attachments.contents.get(handle) ?? "",
      });
      const recipients = listRecipients(mail);
      const outcome = await deliverMail(settings, { from: settings.from, recipients, message }, signal);
      const result = describeDelivery(outcome, settings, recipients, messageId);
      return result.kind === "unknown" ? await lookForSent(settings, messageId, result, signal) : result;
    });
  },
  async verify(_mail, context) {
    return await withSettings(context, async (settings) => {
      const messageId = messageIdOf(context.idempotencyKey, settings.from);
      const content = `mail perhaps sent: the worker stopped in the middle. Look for Message-ID ${messageId} among the sent mails, or ask a recipient, before sending again.`;
      return await lookForSent(settings, messageId, { kind: "unknown", content }, context.signal);
    });
  },
});

function digestLine(mail: Mail): string {
  return `Message: sha256 ${digestMail(mail)}, without the values of From, Date and Message-ID`;
}

async function withSettings(
  context: OutsideContext,
  body: (settings: SmtpSettings) => Promise<ToolResult>,
): Promise<ToolResult> {
  const handle = await context.acquire(capability);
  return await handle.use(async (secret) => {
    const parsed = parseSmtpSettings(secret);
    if (parsed.kind === "settings") return await body(parsed.settings);
    return notSent(
      "settings_unusable",
      `the secret of ${capability} should be JSON with host, port, from and optionally secure, user and pass; not usable: ${parsed.fields.join(", ")}. An administrator has to set it again.`,
    );
  });
}

/** A mail that is not found may still be on its way, so only finding it settles anything. */
async function lookForSent(
  { imap }: SmtpSettings,
  messageId: string,
  doubtful: Extract<ToolResult, { kind: "unknown" }>,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (imap === undefined) return doubtful;
  let known = "";
  for (const afterMs of looksAfterMs) {
    try {
      await delay(afterMs, undefined, { signal });
    } catch {
      break;
    }
    const sent = await findSent(imap, messageId, signal);
    if (sent.kind === "found")
      return { kind: "done", content: `mail sent: it is in the folder ${sent.folder}\nMessage-ID ${messageId}` };
    known =
      sent.kind === "not_found"
        ? ` It is not in the folder ${sent.folder} so far.`
        : ` The sent mails on ${imap.host} could not be looked at (${sent.problem}).`;
  }
  return { kind: "unknown", content: `${doubtful.content}${known}` };
}

function notSent(fault: string, why: string): ToolResult {
  return { kind: "failed", code: "error", content: `mail not sent (${fault}): ${why}` };
}

function messageIdOf(idempotencyKey: string, from: string): string {
  if (!/^[A-Za-z0-9-]{8,64}$/.test(idempotencyKey)) {
    throw new Error(
      `The idempotency key ${JSON.stringify(idempotencyKey)} cannot be part of a Message-ID; letters, digits and - are expected.`,
    );
  }
  return `<${idempotencyKey}@${from.slice(from.indexOf("@") + 1)}>`;
}
