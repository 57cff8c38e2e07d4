import { createHmac } from "node:crypto";

export interface SignedMessage {
  /** The same for every attempt, so that a receiver can tell what it has already. */
  readonly id: string;
  /** When this attempt is made, in seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/** The headers of a message as Standard Webhooks has them. `secret` is `whsec_` and the key in base64. */
export function signMessage(secret: string, { id, timestamp, body }: SignedMessage): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${signature}`,
  };
}
