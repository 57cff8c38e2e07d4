import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
  verify,
  type KeyObject,
} from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { makeDataDir } from "./data-dir.ts";
import { BrokerError } from "./broker-error.ts";
import { makeKeyFile, readKeyFile, replaceFile } from "./key-file.ts";

/** What a chain is made and a head is signed with. Held by the worker alone; a verifier needs it too, for the chain. */
export interface AuditKey {
  readonly keyId: string;
  /** The HMAC of one link. */
  link(text: string): Buffer;
  sign(text: string): Buffer;
  isSignedBy(text: string, signature: Buffer): boolean;
}

/** Name, in the key folder, of the file that seals the audit. */
export const auditKeyFile = "audit-key.private.json";
/** Name of the file with which anybody can check the signature of an exported head. */
const auditPublicKeyFile = "audit-key.public.json";

const privateJwk = z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), d: z.base64url(), x: z.base64url() });

/**
 * The key of `folder` that seals the audit, made on first use by exactly one of any number of processes, mode 0600; the
 * public part lies beside it. It is not replaced: what it sealed is verified with it. Throws `key_file_exposed` and
 * `key_invalid`.
 */
export async function loadOrMakeAuditKey(folder: string): Promise<AuditKey> {
  makeDataDir(folder);
  const path = join(folder, auditKeyFile);
  const what = "The key that seals the audit,";
  let text = await readKeyFile(path, what);
  if (text === undefined) {
    await makeKeyFile(folder, auditKeyFile, makeAuditJwk());
    text = await readKeyFile(path, what);
  }
  if (text === undefined)
    throw new BrokerError("key_missing", `The key that seals the audit, ${path}, was removed while it was being made.`);
  const { key, publicJwk } = parseAuditKey(text, path);
  await replaceFile(folder, auditPublicKeyFile, JSON.stringify(publicJwk), 0o644);
  return key;
}

/** A fresh key as the text of a JWK. */
export function makeAuditJwk(): string {
  return JSON.stringify(generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }));
}

/** Reads the key from the text of a JWK (OKP, Ed25519). `origin` names the file in messages, which never quote it. Throws `key_invalid`. */
export function parseAuditKey(text: string, origin: string): { key: AuditKey; publicJwk: object } {
  let jwk;
  let privateKey: KeyObject;
  try {
    jwk = privateJwk.parse(JSON.parse(text));
    privateKey = createPrivateKey({ key: jwk, format: "jwk" });
  } catch {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold a private key as a JWK with kty OKP, crv Ed25519, d and x.`,
    );
  }
  const publicKey = createPublicKey(privateKey);
  const publicJwk = publicKey.export({ format: "jwk" });
  const x = publicJwk.x ?? "";
  const thumbprint = createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`);
  const chainKey = Buffer.from(
    hkdfSync("sha256", Buffer.from(jwk.d, "base64url"), x, "countersign.audit-chain.v1", 32),
  );
  const key: AuditKey = {
    keyId: thumbprint.digest("base64url").slice(0, 16),
    link: (content) => createHmac("sha256", chainKey).update(content, "utf8").digest(),
    sign: (content) => sign(null, Buffer.from(content, "utf8"), privateKey),
    isSignedBy: (content, signature) => verify(null, Buffer.from(content, "utf8"), publicKey, signature),
  };
  return { key: Object.freeze(key), publicJwk };
}
