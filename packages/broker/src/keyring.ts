import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  type KeyObject,
} from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { BrokerError } from "./broker-error.ts";
import { publicKeyFile, publicKeyOf, type BrokerPublicKey } from "./public-key.ts";
import { rawPublicKey } from "./sealing.ts";

/** A key that opens what was sealed to its public part. Held by the worker alone. */
export interface BrokerPrivateKey {
  readonly key: KeyObject;
  readonly publicKey: BrokerPublicKey;
}

/** The private keys a worker holds, by key id. */
export type Keyring = ReadonlyMap<string, BrokerPrivateKey>;

/** Name, in the key folder, of the file that only the worker reads. */
export const privateKeyFile = "broker-key.private.json";

const privateJwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("X25519"),
  d: z.base64url(),
  x: z.base64url().optional(),
});

/** Everything before the 32 bytes of an X25519 private key in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from("302e020100300506032b656e04220420", "hex");

/** A ring of these keys; the same key twice is one. */
export function makeKeyring(keys: readonly BrokerPrivateKey[]): Keyring {
  return new Map(keys.map((key) => [key.publicKey.keyId, key]));
}

/**
 * Reads a private key from the text of a JWK (OKP, X25519) or from the base64 of its 32 bytes.
 * `origin` names the file or variable in messages, which never quote the text. Throws `key_invalid`.
 */
export function parsePrivateKey(text: string, origin: string): BrokerPrivateKey {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) return privateKeyOf(decodeBase64(trimmed), origin);
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold a private key as a JWK, but is not JSON.`,
    );
  }
  const parsed = privateJwk.safeParse(value);
  if (!parsed.success) {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold a private key as a JWK with kty OKP, crv X25519 and d.`,
    );
  }
  const privateKey = privateKeyOf(Buffer.from(parsed.data.d, "base64url"), origin);
  if (
    parsed.data.x !== undefined &&
    !Buffer.from(parsed.data.x, "base64url").equals(privateKey.publicKey.raw)
  ) {
    throw new BrokerError("key_invalid", `${origin} holds a JWK whose x does not belong to its d.`);
  }
  return privateKey;
}

/**
 * The key of `folder`, made on first use. Afterwards the private file exists with mode 0600, made by
 * exactly one of any number of processes that start at once, and the public file beside it matches.
 * Throws `key_file_exposed` when others may read the private file, `key_invalid` when it holds no key.
 */
export async function loadOrMakeKey(folder: string): Promise<BrokerPrivateKey> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, privateKeyFile);
  const privateKey = (await loadKey(path)) ?? (await makeKey(folder, path));
  await writePublicKey(folder, privateKey.publicKey);
  return privateKey;
}

async function loadKey(path: string): Promise<BrokerPrivateKey | undefined> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new BrokerError(
      "key_invalid",
      `The broker's private key ${path} cannot be opened (${errorCode(error)}). It should be a plain file that this user owns.`,
    );
  }
  try {
    const mode = (await file.stat()).mode & 0o777;
    if ((mode & 0o077) !== 0) {
      throw new BrokerError(
        "key_file_exposed",
        `The broker's private key ${path} has mode ${mode.toString(8).padStart(4, "0")}, so others on this machine can reach it, and it opens every stored secret. Run: chmod 600 ${path}`,
      );
    }
    return parsePrivateKey(await file.readFile("utf8"), path);
  } finally {
    await file.close();
  }
}

async function makeKey(folder: string, path: string): Promise<BrokerPrivateKey> {
  const { privateKey } = generateKeyPairSync("x25519");
  const draft = join(folder, `.${privateKeyFile}.${randomUUID()}`);
  try {
    await writeDurably(draft, JSON.stringify(privateKey.export({ format: "jwk" })), 0o600);
    // A link appears whole or not at all, and only once: whoever loses reads the winner's key.
    await link(draft, path);
    await syncFolder(folder);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const made = await loadKey(path);
  if (made === undefined)
    throw new BrokerError(
      "key_missing",
      `The broker's private key ${path} was removed while it was being made.`,
    );
  return made;
}

async function writePublicKey(folder: string, publicKey: BrokerPublicKey): Promise<void> {
  const draft = join(folder, `.${publicKeyFile}.${randomUUID()}`);
  await writeDurably(draft, JSON.stringify(publicKey.key.export({ format: "jwk" })), 0o644);
  await rename(draft, join(folder, publicKeyFile));
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(text + "\n");
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without this, a power cut could take the key and leave the secrets that were sealed to it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function privateKeyOf(raw: Buffer, origin: string): BrokerPrivateKey {
  if (raw.length !== 32) {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold an X25519 private key of 32 bytes, found ${raw.length}.`,
    );
  }
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, raw]),
    format: "der",
    type: "pkcs8",
  });
  return { key, publicKey: publicKeyOf(rawPublicKey(createPublicKey(key))) };
}

function decodeBase64(text: string): Buffer {
  const isBase64 = z.union([z.base64(), z.base64url()]).safeParse(text).success;
  return isBase64 ? Buffer.from(text, "base64") : Buffer.alloc(0);
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "unknown";
}
