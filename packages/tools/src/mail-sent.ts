import type { ImapFlow } from "imapflow";
import { isLoopback, type ImapSettings } from "./mail-settings.ts";

export type SentOutcome =
  | { readonly kind: "found"; readonly folder: string }
  /** It is not there now; that does not prove that it was not sent. */
  | { readonly kind: "not_found"; readonly folder: string }
  | { readonly kind: "unavailable"; readonly problem: "no_sent_folder" | "login_refused" | "unreachable" };

const connectMs = 10_000;

/**
 * Looks for a message in the folder of sent mails, by its Message-ID, with no change to the mailbox. Never throws for what
 * the server or the network does, and repeats none of its words. A password travels over TLS only, except to this machine.
 */
export async function findSent(settings: ImapSettings, messageId: string, signal: AbortSignal): Promise<SentOutcome> {
  // Only here, since most processes never look: what only describes the tool need not hold the library.
  const { ImapFlow } = await import("imapflow");
  const client = new ImapFlow({
    host: settings.host,
    port: settings.port,
    secure: settings.secure,
    // Without this a server that offers no STARTTLS would be given the password in the clear.
    ...(settings.secure ? {} : { doSTARTTLS: !isLoopback(settings.host) }),
    auth: settings.login,
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: connectMs,
  });
  // Kept to the end of the connection: an 'error' that nobody listens to would end the process.
  client.on("error", () => undefined);
  const abort = (): void => client.close();
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (signal.aborted) return { kind: "unavailable", problem: "unreachable" };
    await client.connect();
    return await look(client, settings.sentFolder, messageId);
  } catch (error) {
    const isRefused = error instanceof Error && "authenticationFailed" in error && error.authenticationFailed === true;
    return { kind: "unavailable", problem: isRefused ? "login_refused" : "unreachable" };
  } finally {
    signal.removeEventListener("abort", abort);
    client.close();
  }
}

async function look(client: ImapFlow, named: string | undefined, messageId: string): Promise<SentOutcome> {
  const folders = await client.list();
  const folder =
    named === undefined
      ? folders.find(({ specialUse }) => specialUse === "\\Sent")?.path
      : folders.find(({ path }) => path === named)?.path;
  if (folder === undefined) return { kind: "unavailable", problem: "no_sent_folder" };
  await client.mailboxOpen(folder, { readOnly: true });
  const hits = await client.search({ header: { "message-id": messageId } }, { uid: true });
  if (!hits || hits.length === 0) return { kind: "not_found", folder };
  // Servers search for a part of the header; what is found has to be the whole of it.
  for await (const { envelope } of client.fetch(hits.slice(0, 50), { envelope: true }, { uid: true })) {
    if (envelope?.messageId === messageId) return { kind: "found", folder };
  }
  return { kind: "not_found", folder };
}
