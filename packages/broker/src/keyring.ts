import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { link, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { makeDataDir } from "./data-dir.ts";
import { BrokerError } from "./broker-error.ts";
import { errorCode, makeKeyFile, readKeyFile, replaceFile, syncFolder } from "./key-file.ts";
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
    throw new BrokerError("key_invalid", `${origin} should hold a private key as a JWK, but is not JSON.`);
  }
  const parsed = privateJwk.safeParse(value);
  if (!parsed.success) {
    throw new BrokerError(
      "key_invalid",
      `${origin} should hold a private key as a JWK with kty OKP, crv X25519 and d.`,
    );
  }
  const privateKey = privateKeyOf(Buffer.from(parsed.data.d, "base64url"), origin);
  if (parsed.data.x !== undefined && !Buffer.from(parsed.data.x, "base64url").equals(privateKey.publicKey.raw)) {
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
  makeDataDir(folder);
  const key = (await loadKey(folder, privateKeyFile)) ?? (await makeKey(folder));
  await writePublicKey(folder, key.publicKey);
  return key;
}

/** Every key of `folder`: the current one, which new secrets are sealed to, and those that older secrets still are. */
export async function loadKeyring(folder: string): Promise<{ current: BrokerPrivateKey; keyring: Keyring }> {
  const current = await loadOrMakeKey(folder);
  const older: BrokerPrivateKey[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    if (!earlierKeyFile.test(name)) continue;
    const key = await loadKey(folder, name);
    if (key !== undefined) older.push(key);
  }
  return { current, keyring: makeKeyring([...older, current]) };
}

/** A ring that can be read again from its folder, so that a key made meanwhile needs no restart. */
export interface LiveKeyring {
  readonly current: BrokerPrivateKey;
  /** Always what was read last. */
  readonly keyring: Keyring;
  /** Afterwards `keyring` holds every key of the folder besides those it had. */
  refresh(): Promise<void>;
}

/** The keys of `folder`, as `loadKeyring` reads them, in a ring that grows by `refresh`. */
export async function loadLiveKeyring(folder: string): Promise<LiveKeyring> {
  const { current, keyring } = await loadKeyring(folder);
  const live = new Map(keyring);
  return {
    current,
    keyring: live,
    async refresh() {
      for (const [keyId, key] of (await loadKeyring(folder)).keyring) live.set(keyId, key);
    },
  };
}

/**
 * Afterwards `folder` has a new current key, and the one before is kept beside it until `removeEarlierKey`. Broken off at
 * any point, all keys are still there. Whoever seals reads the new public key at its next start. Throws as `loadOrMakeKey`.
 */
export async function replaceKey(folder: string): Promise<BrokerPrivateKey> {
  const before = await loadOrMakeKey(folder);
  const earlier = join(folder, earlierKeyName(before.publicKey.keyId));
  await link(join(folder, privateKeyFile), earlier).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
  await syncFolder(folder);
  await replaceFile(folder, privateKeyFile, makePrivateJwk(), 0o600);
  return loadOrMakeKey(folder);
}

/** Afterwards the file of a retired key is gone, and nothing opens what is sealed to it. */
export async function removeEarlierKey(folder: string, keyId: string): Promise<void> {
  await rm(join(folder, earlierKeyName(keyId)), { force: true });
  await syncFolder(folder);
}

const earlierKeyFile = /^broker-key\.[\w-]+\.earlier\.json$/;

function earlierKeyName(keyId: string): string {
  return `broker-key.${keyId}.earlier.json`;
}

async function loadKey(folder: string, name: string): Promise<BrokerPrivateKey | undefined> {
  const path = join(folder, name);
  const text = await readKeyFile(path, "The broker's private key");
  return text === undefined ? undefined : parsePrivateKey(text, path);
}

async function makeKey(folder: string): Promise<BrokerPrivateKey> {
  await makeKeyFile(folder, privateKeyFile, makePrivateJwk());
  const made = await loadKey(folder, privateKeyFile);
  if (made !== undefined) return made;
  throw new BrokerError(
    "key_missing",
    `The broker's private key ${join(folder, privateKeyFile)} was removed while it was being made.`,
  );
}

function makePrivateJwk(): string {
  return JSON.stringify(generateKeyPairSync("x25519").privateKey.export({ format: "jwk" }));
}

async function writePublicKey(folder: string, publicKey: BrokerPublicKey): Promise<void> {
  await replaceFile(folder, publicKeyFile, JSON.stringify(publicKey.key.export({ format: "jwk" })), 0o644);
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
