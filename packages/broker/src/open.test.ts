import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { makeKeyring, parsePrivateKey, type BrokerPrivateKey } from "./keyring.ts";
import { openSecret } from "./open.ts";
import { sealSecret } from "./seal.ts";
import type { SealedSecret, SecretIdentity } from "./sealing.ts";

function makeKey(): BrokerPrivateKey {
  return parsePrivateKey(
    JSON.stringify(generateKeyPairSync("x25519").privateKey.export({ format: "jwk" })),
    "a test key",
  );
}

const key = makeKey();
const otherKey = makeKey();
const ring = makeKeyring([key, otherKey]);
const identity: SecretIdentity = {
  id: "018f0000-0000-7000-8000-000000000001",
  name: "smtp",
  scope: "018f0000-0000-7000-8000-00000000000a",
  capability: "mail.send",
  version: 1,
};
const plaintext = 'hunter2/+"\nñ🔑';

function flipBit(bytes: Buffer, at: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ 1;
  return flipped;
}

describe("a sealed secret", () => {
  test("opens with the private key to exactly what was sealed", () => {
    expect(openSecret(ring, identity, sealSecret(key.publicKey, identity, plaintext))).toBe(plaintext);
  });

  test("never looks the same twice and nowhere shows its text", () => {
    const [one, two] = [sealSecret(key.publicKey, identity, plaintext), sealSecret(key.publicKey, identity, plaintext)];
    for (const part of ["ephemeralPublicKey", "sealedDataKey", "dataKeyNonce", "nonce", "ciphertext"] as const) {
      expect(one[part].equals(two[part])).toBe(false);
      expect(one[part].includes("hunter2")).toBe(false);
    }
  });

  test("keeps 16 bytes of tag in both layers", () => {
    const sealed = sealSecret(key.publicKey, identity, plaintext);
    expect(sealed.ciphertext.length).toBe(Buffer.byteLength(plaintext) + 16);
    expect(sealed.sealedDataKey.length).toBe(32 + 16);
  });

  test.each([
    ["id", { id: "018f0000-0000-7000-8000-000000000002" }],
    ["name", { name: "smtp2" }],
    ["workspace", { scope: "018f0000-0000-7000-8000-00000000000b" }],
    ["capability", { capability: "llm.anthropic" }],
    ["version", { version: 2 }],
  ])("does not open under another %s", (_what, change) => {
    const sealed = sealSecret(key.publicKey, identity, plaintext);
    expect(() => openSecret(ring, { ...identity, ...change }, sealed)).toThrow(
      expect.objectContaining({ name: "BrokerError", code: "secret_unreadable" }),
    );
  });

  test("KN27: any set of parts copied from another row does not open", () => {
    const parts = ["keyId", "ephemeralPublicKey", "sealedDataKey", "dataKeyNonce", "nonce", "ciphertext"] as const;
    const mine = sealSecret(key.publicKey, identity, plaintext);
    const theirs = sealSecret(
      otherKey.publicKey,
      { ...identity, id: "018f0000-0000-7000-8000-000000000002" },
      plaintext,
    );
    for (let set = 1; set < 2 ** parts.length; set++) {
      const copied = parts.filter((_part, at) => (set & (1 << at)) !== 0).map((part) => [part, theirs[part]]);
      const mixed: SealedSecret = { ...mine, ...Object.fromEntries(copied) };
      expect(() => openSecret(ring, identity, mixed)).toThrow(expect.objectContaining({ code: "secret_unreadable" }));
    }
  });

  test("does not open after a change of any one byte of any part", () => {
    const sealed = sealSecret(key.publicKey, identity, plaintext);
    for (const part of ["ephemeralPublicKey", "sealedDataKey", "dataKeyNonce", "nonce", "ciphertext"] as const) {
      for (let at = 0; at < sealed[part].length; at++) {
        const changed = { ...sealed, [part]: flipBit(sealed[part], at) };
        expect(() => openSecret(ring, identity, changed)).toThrow(
          expect.objectContaining({ code: "secret_unreadable" }),
        );
      }
    }
  });

  test("does not open with parts cut short, emptied, or an ephemeral key of small order", () => {
    const sealed = sealSecret(key.publicKey, identity, plaintext);
    for (const part of ["ephemeralPublicKey", "sealedDataKey", "dataKeyNonce", "nonce", "ciphertext"] as const) {
      for (const cut of [
        Buffer.alloc(0),
        sealed[part].subarray(0, -1),
        sealed[part].subarray(0, -13),
        Buffer.alloc(32),
      ]) {
        expect(() => openSecret(ring, identity, { ...sealed, [part]: cut })).toThrow(
          expect.objectContaining({ code: "secret_unreadable" }),
        );
      }
    }
  });

  test("names the key that is missing from the ring", () => {
    const sealed = sealSecret(otherKey.publicKey, identity, plaintext);
    expect(() => openSecret(makeKeyring([key]), identity, sealed)).toThrow(
      expect.objectContaining({
        code: "key_unknown",
        message: expect.stringContaining(otherKey.publicKey.keyId),
      }),
    );
  });

  test("whose errors show neither the text nor key material", () => {
    const sealed = sealSecret(key.publicKey, identity, plaintext);
    try {
      openSecret(ring, { ...identity, version: 2 }, sealed);
      expect.unreachable();
    } catch (error) {
      const shown = `${String(error)} ${JSON.stringify(error)} ${error instanceof Error ? error.stack : ""}`;
      expect(shown).not.toContain("hunter2");
      expect(error).not.toHaveProperty("cause");
    }
  });
});

describe("sealing refuses", () => {
  test("fewer than 8 characters, counted as a person counts them", () => {
    expect(() => sealSecret(key.publicKey, identity, "1234567")).toThrow(
      expect.objectContaining({
        code: "secret_too_short",
        message: expect.stringContaining("at least 8"),
      }),
    );
    expect(() => sealSecret(key.publicKey, identity, "🔑🔑🔑🔑")).toThrow(
      expect.objectContaining({ code: "secret_too_short" }),
    );
    expect(openSecret(ring, identity, sealSecret(key.publicKey, identity, "12345678"))).toBe("12345678");
  });

  test("text that would come back changed", () => {
    expect(() => sealSecret(key.publicKey, identity, "12345678\ud800")).toThrow(
      expect.objectContaining({ code: "secret_not_text" }),
    );
  });
});
