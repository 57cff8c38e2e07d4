import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { BrokerError } from "./broker-error.ts";

/** The key that secrets are sealed to. Whoever holds it can store a secret and cannot read one. */
export interface BrokerPublicKey {
  readonly keyId: string;
  readonly key: KeyObject;
  /** The 32 bytes of the X25519 public key. */
  readonly raw: Buffer;
}

/** Name, in the key folder, of the file that the server reads. */
export const publicKeyFile = "broker-key.public.json";

const publicJwk = z.object({ kty: z.literal("OKP"), crv: z.literal("X25519"), x: z.base64url() });

/** The public key of these 32 bytes. Its id follows from the bytes, so no two keys can share one by mistake. */
export function publicKeyOf(raw: Buffer): BrokerPublicKey {
  const x = raw.toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
  // The thumbprint of RFC 7638, cut to 96 bits so that it can be read out of a message.
  const thumbprint = createHash("sha256").update(`{"crv":"X25519","kty":"OKP","x":"${x}"}`);
  return { keyId: thumbprint.digest("base64url").slice(0, 16), key, raw };
}

/**
 * Reads a public key from the text of a JWK (OKP, X25519). A private part is refused: whoever only
 * seals must not hold one. Throws `key_invalid`.
 */
export function parsePublicKey(text: string, origin: string): BrokerPublicKey {
  const value = parseJson(text);
  const parsed = publicJwk.safeParse(value);
  if (!parsed.success) {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold the public key as a JWK with kty OKP, crv X25519 and x.`,
    );
  }
  if (typeof value === "object" && value !== null && "d" in value) {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold a public key, but holds a private one. Keep it with the worker only.`,
    );
  }
  const raw = Buffer.from(parsed.data.x, "base64url");
  if (raw.length !== 32) {
    throw new BrokerError("key_invalid", `${origin} should hold an X25519 key of 32 bytes, found ${raw.length}.`);
  }
  return publicKeyOf(raw);
}

/** Reads the public key that the key's maker left in `folder`. Throws `key_missing` or `key_invalid`. */
export async function readPublicKey(folder: string): Promise<BrokerPublicKey> {
  const path = join(folder, publicKeyFile);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new BrokerError(
      "key_missing",
      `The broker's public key ${path} cannot be read. The worker writes it when it starts with this folder.`,
    );
  }
  return parsePublicKey(text, path);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
