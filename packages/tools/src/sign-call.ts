import { createHmac } from "node:crypto";

/** The headers that prove who sent a body and when, as Standard Webhooks has them. */
export interface SignedHeaders {
  readonly "webhook-id": string;
  /** Seconds since 1970. */
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/**
 * Signs a body: HMAC-SHA256 over id, time and body, in base64. A secret that begins with `whsec_` is base64 after that;
 * any other is taken as it stands.
 */
export function signCall(secret: string, id: string, at: Date, body: string): SignedHeaders {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
