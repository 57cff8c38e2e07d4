import { createDecipheriv, diffieHellman } from "node:crypto";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import { publicKeyOf } from "./public-key.ts";
import {
  additionalData,
  cipherName,
  deriveSealingKey,
  keyLength,
  nonceLength,
  tagLength,
  type SealedSecret,
  type SecretIdentity,
} from "./sealing.ts";

/**
 * Opens one stored version of a secret. It opens only as what it was sealed as: a row whose parts,
 * name, workspace, capability, version or key id were changed or taken from another row throws
 * `secret_unreadable`. Throws `key_unknown` when its key is not in the ring.
 */
export function openSecret(keyring: Keyring, identity: SecretIdentity, sealed: SealedSecret): string {
  const { keyId } = sealed;
  const privateKey = keyring.get(keyId);
  if (privateKey === undefined) {
    throw new BrokerError(
      "key_unknown",
      `The secret ${identity.name} is sealed to the key ${keyId}, which this worker does not hold.`,
    );
  }
  try {
    const ephemeral = publicKeyOf(sealed.ephemeralPublicKey);
    const agreed = diffieHellman({ privateKey: privateKey.key, publicKey: ephemeral.key });
    const sealingKey = deriveSealingKey(agreed, ephemeral.raw, privateKey.publicKey.raw);
    const dataKey = decrypt(
      sealingKey,
      sealed.dataKeyNonce,
      additionalData("data-key", identity, keyId),
      sealed.sealedDataKey,
    );
    if (dataKey.length !== keyLength) throw new RangeError("data key length");
    const plaintext = decrypt(dataKey, sealed.nonce, additionalData("secret", identity, keyId), sealed.ciphertext);
    for (const used of [agreed, sealingKey, dataKey]) used.fill(0);
    return plaintext.toString("utf8");
  } catch {
    // Whatever failed underneath, the row is not what was sealed; which part of it says nothing useful.
    throw new BrokerError(
      "secret_unreadable",
      `The secret ${identity.name}, version ${identity.version}, does not open with the key ${keyId}: its row was changed or belongs to another secret. Set it again.`,
    );
  }
}

function decrypt(key: Buffer, nonce: Buffer, bound: Buffer, ciphertext: Buffer): Buffer {
  if (nonce.length !== nonceLength || ciphertext.length < tagLength) throw new RangeError("sealed part length");
  const decipher = createDecipheriv(cipherName, key, nonce, { authTagLength: tagLength });
  decipher.setAAD(bound);
  decipher.setAuthTag(ciphertext.subarray(-tagLength));
  return Buffer.concat([decipher.update(ciphertext.subarray(0, -tagLength)), decipher.final()]);
}
