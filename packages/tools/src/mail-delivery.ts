import { Readable } from "node:stream";
import SMTPConnection, { type SMTPConnectionOptions } from "nodemailer/lib/smtp-connection";
import { isLoopback, type SmtpSettings } from "./mail-settings.ts";

/** Who the server is told the mail is from and for, and the finished message. */
export interface Delivery {
  readonly from: string;
  readonly recipients: readonly string[];
  readonly message: Buffer;
}

/** Why a mail was not taken, in our words. `session_refused` and below are answers of the server. */
export type DeliveryFault =
  | "host_not_found"
  | "unreachable"
  | "timeout"
  | "tls_failed"
  | "aborted"
  | "bad_answer"
  | "session_refused"
  | "login_refused"
  | "sender_refused"
  | "recipients_refused"
  | "message_refused";

/** The server's own numbers, such as 550 and 5.1.1; its words are left out, since they quote what they were sent. */
export interface SmtpStatus {
  readonly reply: number | undefined;
  readonly enhanced: string | undefined;
}

export interface RefusedRecipient {
  readonly address: string;
  readonly status: SmtpStatus;
}

/**
 * `taken`: the server took responsibility for the recipients that are not refused. `not_sent`: nothing
 * was delivered to anybody. `unknown`: the message was on its way and no answer came.
 */
export type DeliveryOutcome =
  | { readonly kind: "taken"; readonly refused: readonly RefusedRecipient[] }
  | { readonly kind: "not_sent"; readonly fault: DeliveryFault; readonly status: SmtpStatus }
  | { readonly kind: "unknown"; readonly fault: DeliveryFault };

export interface DeliveryTimeouts {
  readonly connectMs: number;
  readonly greetingMs: number;
  /** Longest silence of the server once it has greeted. */
  readonly silenceMs: number;
}

const defaultTimeouts: DeliveryTimeouts = {
  connectMs: 20_000,
  greetingMs: 20_000,
  silenceMs: 60_000,
};

/** What the library's errors hold that is worth reading; never their text. */
interface LibraryError {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
  readonly response?: unknown;
  readonly recipient?: unknown;
}

/**
 * Hands one message to an SMTP server, on a connection of its own. Never throws for what the server or
 * the network does. A password travels over TLS only, except to this machine itself. An abort closes the
 * connection; from the moment the server asked for the message it gives `unknown`, before that `not_sent`.
 */
export async function deliverMail(
  settings: SmtpSettings,
  delivery: Delivery,
  signal: AbortSignal,
  timeouts: DeliveryTimeouts = defaultTimeouts,
): Promise<DeliveryOutcome> {
  if (signal.aborted) return { kind: "not_sent", fault: "aborted", status: noStatus };
  const connection = new SMTPConnection(connectionOptions(settings, timeouts));
  const { login } = settings;
  const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();

  // The library reads the message only after the server's go-ahead to DATA: being read means it may arrive.
  let hasBegun = false;
  const message = new Readable({
    read() {
      hasBegun = true;
      this.push(delivery.message);
      this.push(null);
    },
  });

  function end(error: LibraryError): void {
    resolve(classify(error, hasBegun));
    connection.close();
  }
  function abort(): void {
    end({ code: "EABORT" });
  }
  function send(): void {
    const envelope = {
      from: delivery.from,
      to: [...delivery.recipients],
      size: delivery.message.length,
    };
    connection.send(envelope, message, (error, info) => {
      if (error) return end(error);
      resolve({ kind: "taken", refused: readRefusals(info?.rejectedErrors) });
      connection.quit();
    });
  }

  // Kept to the end of the connection: an 'error' that nobody listens to would end the process.
  connection.on("error", end);
  signal.addEventListener("abort", abort, { once: true });
  connection.connect((error) => {
    if (error) return end(error);
    if (login === undefined) return send();
    connection.login({ credentials: { user: login.user, pass: login.pass } }, (refusal) =>
      refusal ? end(refusal) : send(),
    );
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function connectionOptions(settings: SmtpSettings, timeouts: DeliveryTimeouts): SMTPConnectionOptions {
  const isLocal = isLoopback(settings.host);
  return {
    host: settings.host,
    port: settings.port,
    secure: settings.secure,
    // A server on this machine offers STARTTLS, if at all, with a certificate that nobody vouches for.
    ignoreTLS: isLocal,
    requireTLS: !settings.secure && !isLocal && settings.login !== undefined,
    connectionTimeout: timeouts.connectMs,
    dnsTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.silenceMs,
    logger: false,
  };
}

const noStatus: SmtpStatus = { reply: undefined, enhanced: undefined };

function classify(error: LibraryError, hasBegun: boolean): DeliveryOutcome {
  const status = readStatus(error);
  const isRefusal = status.reply !== undefined && status.reply >= 400;
  // Once the message is under way only a refusal of the whole of it says that nobody got it.
  if (hasBegun && !(error.code === "EMESSAGE" && isRefusal)) {
    return {
      kind: "unknown",
      fault: error.code === "EMESSAGE" ? "bad_answer" : faultOf(error, isRefusal),
    };
  }
  return { kind: "not_sent", fault: faultOf(error, isRefusal), status };
}

function faultOf({ code, originalCode, command }: LibraryError, isRefusal: boolean): DeliveryFault {
  switch (code) {
    case "EABORT":
      return "aborted";
    case "EDNS":
      return "host_not_found";
    case "ETIMEDOUT":
      return "timeout";
    case "ETLS":
      return "tls_failed";
    case "EAUTH":
      return "login_refused";
    case "EMESSAGE":
      return "message_refused";
    case "EENVELOPE":
      if (command === "MAIL FROM") return "sender_refused";
      return command === "RCPT TO" ? "recipients_refused" : "message_refused";
    case "ESOCKET":
      return /CERT|TLS|SSL/.test(String(originalCode)) ? "tls_failed" : "unreachable";
    case "ECONNECTION":
      return isRefusal ? "session_refused" : "unreachable";
    default:
      return isRefusal ? "session_refused" : "bad_answer";
  }
}

function readStatus({ responseCode, response }: LibraryError): SmtpStatus {
  const reply = typeof responseCode === "number" ? responseCode : undefined;
  const text = typeof response === "string" ? response : "";
  return { reply, enhanced: /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] };
}

function readRefusals(errors: readonly LibraryError[] | undefined): RefusedRecipient[] {
  return (errors ?? []).map((error) => ({
    address: String(error.recipient),
    status: readStatus(error),
  }));
}
