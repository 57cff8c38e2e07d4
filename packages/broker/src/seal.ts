import { createCipheriv, diffieHellman, generateKeyPairSync, randomBytes } from "node:crypto";
import { BrokerError } from "./broker-error.ts";
import type { BrokerPublicKey } from "./public-key.ts";
import {
  additionalData,
  cipherName,
  deriveSealingKey,
  keyLength,
  makeNonce,
  rawPublicKey,
  tagLength,
  type SealedSecret,
  type SecretIdentity,
} from "./sealing.ts";

/** Fewer characters than this cannot be taken out of results by value without harming ordinary text. */
const shortestSecret = 8;

/**
 * Seals a secret so that only the holder of the broker's private key opens it, and only as this
 * version of this secret. The secret lies under a data key of its own, the data key under an
 * agreement between a key made for it and the broker's public key.
 * Throws `secret_too_short` under 8 characters, `secret_not_text` for text that UTF-8 cannot hold.
 */
export function sealSecret(publicKey: BrokerPublicKey, identity: SecretIdentity, plaintext: string): SealedSecret {
  checkSecretText(identity.name, plaintext);
  const { keyId } = publicKey;
  const dataKey = randomBytes(keyLength);
  const nonce = makeNonce();
  const ciphertext = encrypt(dataKey, nonce, additionalData("secret", identity, keyId), Buffer.from(plaintext, "utf8"));

  const ephemeral = generateKeyPairSync("x25519");
  const ephemeralPublicKey = rawPublicKey(ephemeral.publicKey);
  const agreed = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: publicKey.key });
  const sealingKey = deriveSealingKey(agreed, ephemeralPublicKey, publicKey.raw);
  const dataKeyNonce = makeNonce();
  const sealedDataKey = encrypt(sealingKey, dataKeyNonce, additionalData("data-key", identity, keyId), dataKey);

  for (const used of [dataKey, agreed, sealingKey]) used.fill(0);
  return { keyId, ephemeralPublicKey, sealedDataKey, dataKeyNonce, nonce, ciphertext };
}

function checkSecretText(name: string, plaintext: string): void {
  if (!plaintext.isWellFormed()) {
    throw new BrokerError(
      "secret_not_text",
      `The secret ${name} holds half a surrogate pair, which cannot be stored. Give it as plain text or base64.`,
    );
  }
  const { length } = Array.from(plaintext);
  if (length < shortestSecret) {
    throw new BrokerError(
      "secret_too_short",
      `The secret ${name} has ${length} characters; at least ${shortestSecret} are needed, since shorter ones cannot be kept out of results.`,
    );
  }
}

function encrypt(key: Buffer, nonce: Buffer, bound: Buffer, plaintext: Buffer): Buffer {
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagLength });
  cipher.setAAD(bound);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}
