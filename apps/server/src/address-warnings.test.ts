import { expect, test } from "vitest";
import { addressWarnings } from "./address-warnings.ts";

test("a server that only this machine reaches, or that is reached over https, warns of nothing", () => {
  for (const host of ["127.0.0.1", "localhost", "::1"])
    expect(addressWarnings({ host, publicUrl: undefined })).toEqual([]);
  expect(addressWarnings({ host: "0.0.0.0", publicUrl: "https://agents.example.org" })).toEqual([]);
  expect(addressWarnings({ host: "0.0.0.0", publicUrl: "http://localhost:7070" })).toEqual([]);
});

test("a server that listens for others without PUBLIC_URL says that it refuses them, and what to set", () => {
  for (const host of ["0.0.0.0", "::", "10.0.0.7"]) {
    const [warning = "", ...others] = addressWarnings({ host, publicUrl: undefined });
    expect(others).toEqual([]);
    expect(warning).toContain(`HOST is ${host} and PUBLIC_URL is not set`);
    expect(warning).toContain("403 host_not_allowed");
  }
});

test("an http: PUBLIC_URL says that tokens and cookies go unencrypted", () => {
  const [warning] = addressWarnings({ host: "127.0.0.1", publicUrl: "http://agents.example.org" });
  expect(warning).toContain("PUBLIC_URL is http://agents.example.org: over http: tokens and cookies go unencrypted");
});
