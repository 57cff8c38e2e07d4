import fc from "fast-check";
import { expect, test } from "vitest";
import { checkTarget, isPublicAddress } from "./public-address.ts";

test.each([
  "8.8.8.8",
  "1.1.1.1",
  "172.15.255.255",
  "172.32.0.1",
  "100.63.255.255",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001:80b::200e",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  "127.0.0.1",
  "127.255.255.254",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "100.127.255.255",
  "0.0.0.0",
  "0.1.2.3",
  "198.18.0.1",
  "192.0.0.8",
  "192.0.2.1",
  "203.0.113.7",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::1",
  "::",
  "::ffff:8.8.8.8",
  "::ffff:127.0.0.1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "fc00::1",
  "fd12:3456::1",
  "ff02::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "3fff::1",
  "100::1",
  "not an address",
  "",
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

const refuse = { mayBePrivate: false };

test.each([
  "http://example.com/",
  "ftp://example.com/",
  "https://user:password@example.com/",
  "https://user@example.com/",
  "https://127.0.0.1/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://2130706433/",
  "https://0x7f.1/",
  "https://017700000001/",
  "https://127.1/",
  "https://localhost/",
  "https://169.254.169.254/latest/meta-data",
  "not a url",
  "javascript:alert(1)",
])("UI23: %s is refused as a target, however it is spelled", async (url) => {
  const { kind } = await checkTarget(url, { ...refuse, resolve: async () => [{ address: "127.0.0.1", family: 4 }] });
  expect(kind).toBe("refused");
});

test("UI23: a name is refused for any one address of its that is not public, whatever the others are", async () => {
  const address = fc.constantFrom("8.8.8.8", "2606:4700:4700::1111", "10.0.0.1", "127.0.0.1", "::1", "fd00::1");
  await fc.assert(
    fc.asyncProperty(fc.array(address, { minLength: 1, maxLength: 4 }), async (all) => {
      const resolve = async () => all.map((one) => ({ address: one, family: one.includes(":") ? 6 : 4 }));
      const checked = await checkTarget("https://hooks.example.com/x", { ...refuse, resolve });
      expect(checked.kind).toBe(all.every(isPublicAddress) ? "allowed" : "refused");
    }),
  );
});

test("a name without an address is unresolved, not refused; private targets pass where that is configured", async () => {
  const nowhere = { resolve: async () => Promise.reject(new Error("ENOTFOUND")) };
  expect((await checkTarget("https://nowhere.example/", { ...refuse, ...nowhere })).kind).toBe("unresolved");
  expect((await checkTarget("http://127.0.0.1:9/", { mayBePrivate: true })).kind).toBe("allowed");
});
