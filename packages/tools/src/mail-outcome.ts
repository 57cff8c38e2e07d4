import type { ToolResult } from "@countersign/engine/tool.ts";
import type { DeliveryOutcome, SmtpStatus } from "./mail-delivery.ts";
import type { SmtpSettings } from "./mail-settings.ts";

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

/** What the model and the person are told of a delivery. */
export function describeDelivery(
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
      for (const refusal of outcome.refused) lines.push(`refused for ${refusal.address}${statusText(refusal.status)}`);
      return { kind: "done", content: [...lines, `Message-ID ${messageId}`].join("\n") };
    }
    case "not_sent": {
      const { fault, status } = outcome;
      const advice = status.reply !== undefined && status.reply < 500 ? " The refusal is temporary." : "";
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
