import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadOrMakeKey, makeKeyring, parsePrivateKey, privateKeyFile } from "./keyring.ts";
import { parsePublicKey, publicKeyFile, readPublicKey } from "./public-key.ts";

const privateHex = "77076d0a7318a57d3c16c17251b26645df2a1c8b2d3a3a1e6c0c0d7e2e6a2c2a";
const raw = Buffer.from(privateHex, "hex");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-keys-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function modeOf(name: string): Promise<string> {
  return ((await stat(join(folder, name))).mode & 0o777).toString(8);
}

describe("the key folder", () => {
  test("gets a private key of mode 600, a public one beside it and nothing else", async () => {
    const made = await loadOrMakeKey(folder);
    expect((await readdir(folder)).toSorted()).toEqual([".gitignore", privateKeyFile, publicKeyFile]);
    expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe("*\n");
    expect(await modeOf(privateKeyFile)).toBe("600");
    const read = await readPublicKey(folder);
    expect(read.keyId).toBe(made.publicKey.keyId);
    expect(read.raw.equals(made.publicKey.raw)).toBe(true);
    expect(JSON.parse(await readFile(join(folder, publicKeyFile), "utf8"))).not.toHaveProperty("d");
  });

  test("keeps its key from start to start", async () => {
    const first = await loadOrMakeKey(folder);
    const before = await readFile(join(folder, privateKeyFile), "utf8");
    const second = await loadOrMakeKey(folder);
    expect(second.publicKey.keyId).toBe(first.publicKey.keyId);
    expect(await readFile(join(folder, privateKeyFile), "utf8")).toBe(before);
  });

  test("is made where it does not exist yet", async () => {
    const made = await loadOrMakeKey(join(folder, "deeper", "still"));
    expect((await readPublicKey(join(folder, "deeper", "still"))).keyId).toBe(made.publicKey.keyId);
  });

  test("gets one key however many processes start at once", async () => {
    const script = `
      const { loadOrMakeKey } = await import(${JSON.stringify(join(import.meta.dirname, "keyring.ts"))});
      console.log((await loadOrMakeKey(${JSON.stringify(folder)})).publicKey.keyId);`;
    const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    const starts = await Promise.all(Array.from({ length: 6 }, run));
    const inside = await Promise.all(Array.from({ length: 20 }, () => loadOrMakeKey(folder)));
    const ids = new Set([...starts.map((start) => start.stdout.trim()), ...inside.map((key) => key.publicKey.keyId)]);
    expect([...ids]).toEqual([(await readPublicKey(folder)).keyId]);
    expect(await readdir(folder)).toHaveLength(3);
  });

  test("gets one key whenever the starts meet", async () => {
    for (let round = 0; round < 30; round++) {
      const place = join(folder, String(round));
      const keys = await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          for (let turn = 0; turn < at * 3; turn++) await new Promise((resolve) => setImmediate(resolve));
          return loadOrMakeKey(place);
        }),
      );
      expect(new Set(keys.map((key) => key.publicKey.keyId)).size).toBe(1);
    }
  });

  test("writes the public key again where a crash or a copy left none, or another", async () => {
    const made = await loadOrMakeKey(folder);
    await rm(join(folder, publicKeyFile));
    await loadOrMakeKey(folder);
    expect((await readPublicKey(folder)).keyId).toBe(made.publicKey.keyId);
    await writeFile(join(folder, publicKeyFile), '{"kty":"OKP","crv":"X25519","x":"AAAA"}');
    await loadOrMakeKey(folder);
    expect((await readPublicKey(folder)).keyId).toBe(made.publicKey.keyId);
  });

  test.each([0o640, 0o604, 0o660, 0o644, 0o610])(
    "refuses a private key that others can reach (mode %o)",
    async (mode) => {
      await loadOrMakeKey(folder);
      const path = join(folder, privateKeyFile);
      await chmod(path, mode);
      await expect(loadOrMakeKey(folder)).rejects.toMatchObject({
        code: "key_file_exposed",
        message: expect.stringContaining(`chmod 600 ${path}`),
      });
    },
  );

  test("refuses a private key that is a link, and never replaces one it cannot read", async () => {
    await loadOrMakeKey(folder);
    const linked = await mkdtemp(join(folder, "linked-"));
    await symlink(join(folder, privateKeyFile), join(linked, privateKeyFile));
    await expect(loadOrMakeKey(linked)).rejects.toMatchObject({ code: "key_invalid" });

    await writeFile(join(folder, privateKeyFile), "not a key at all");
    await expect(loadOrMakeKey(folder)).rejects.toMatchObject({ code: "key_invalid" });
    expect(await readFile(join(folder, privateKeyFile), "utf8")).toBe("not a key at all");
  });

  test("says who writes the public key where there is none", async () => {
    await expect(readPublicKey(folder)).rejects.toMatchObject({
      code: "key_missing",
      message: expect.stringContaining("worker"),
    });
  });
});

describe("a private key", () => {
  test("is the same key as JWK, base64 and base64url of its bytes", () => {
    const jwk = parsePrivateKey(raw.toString("base64"), "KEY").key.export({ format: "jwk" });
    const forms = [
      raw.toString("base64"),
      raw.toString("base64url"),
      ` ${raw.toString("base64")}\n`,
      JSON.stringify(jwk),
    ];
    const keys = forms.map((form) => parsePrivateKey(form, "KEY"));
    expect(new Set(keys.map((key) => key.publicKey.keyId)).size).toBe(1);
    expect(makeKeyring(keys).size).toBe(1);
  });

  test("is refused in any other form, naming where it was found and never quoting it", () => {
    const jwk = parsePrivateKey(raw.toString("base64"), "KEY").key.export({ format: "jwk" });
    const otherX = parsePrivateKey(Buffer.alloc(32, 7).toString("base64"), "KEY").publicKey.raw.toString("base64url");
    const wrong = [
      "",
      "ab",
      raw.toString("hex"),
      raw.subarray(1).toString("base64"),
      `{"d":"${privateHex}"`,
      JSON.stringify({ ...jwk, crv: "Ed25519" }),
      JSON.stringify({ ...jwk, d: undefined }),
      JSON.stringify({ ...jwk, x: otherX }),
    ];
    for (const text of wrong) {
      try {
        parsePrivateKey(text, "BROKER_KEYS");
        expect.unreachable(text);
      } catch (error) {
        expect(error).toMatchObject({
          code: "key_invalid",
          message: expect.stringContaining("BROKER_KEYS"),
        });
        expect(String(error)).not.toContain(privateHex.slice(0, 12));
        expect(String(error)).not.toContain(raw.toString("base64").slice(0, 12));
      }
    }
  });
});

test("a process that only seals is refused a private key", () => {
  const jwk = parsePrivateKey(raw.toString("base64"), "KEY").key.export({ format: "jwk" });
  expect(() => parsePublicKey(JSON.stringify(jwk), "BROKER_PUBLIC_KEY")).toThrow(
    expect.objectContaining({ code: "key_invalid", message: expect.stringContaining("private") }),
  );
});
