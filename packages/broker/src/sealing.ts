import { hkdfSync, randomBytes, type KeyObject } from "node:crypto";

/** What a sealed secret is bound to: moved to another row, it no longer opens. */
export interface SecretIdentity {
  readonly id: string;
  readonly name: string;
  /** The workspace the secret belongs to. */
  readonly scope: string;
  readonly capability: string;
  readonly version: number;
}

/** One version of a secret as it is stored. Both ciphertexts end with their 16-byte tag. */
export interface SealedSecret {
  readonly keyId: string;
  readonly ephemeralPublicKey: Buffer;
  readonly sealedDataKey: Buffer;
  readonly dataKeyNonce: Buffer;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
}

export const cipherName = "aes-256-gcm";
export const tagLength = 16;
export const nonceLength = 12;
export const keyLength = 32;

/** The bytes that authenticate where a layer belongs. As JSON, no two identities give the same bytes. */
export function additionalData(layer: "data-key" | "secret", identity: SecretIdentity, keyId: string): Buffer {
  const { id, scope, name, capability, version } = identity;
  return Buffer.from(
    JSON.stringify(["countersign.secret.v1", layer, id, scope, name, capability, version, keyId]),
    "utf8",
  );
}

/** The key that seals one data key, from an X25519 agreement and both public keys. */
export function deriveSealingKey(agreed: Buffer, ephemeralPublicKey: Buffer, brokerPublicKey: Buffer): Buffer {
  const salt = Buffer.concat([ephemeralPublicKey, brokerPublicKey]);
  return Buffer.from(hkdfSync("sha256", agreed, salt, "countersign.data-key.v1", keyLength));
}

/** The 32 bytes of an X25519 public key. */
export function rawPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url");
}

/** A fresh nonce for AES-GCM. Every key here seals one message, so a random one cannot repeat under it. */
export function makeNonce(): Buffer {
  return randomBytes(nonceLength);
}
