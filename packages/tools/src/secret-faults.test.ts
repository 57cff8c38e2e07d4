import { expect, test } from "vitest";
import { findSecretFaults } from "./secret-faults.ts";

const smtp = { host: "smtp.example.org", port: 587, from: "agent@example.org" };
const faultsOf = (capability: string, value: unknown) =>
  findSecretFaults(capability, typeof value === "string" ? value : JSON.stringify(value)).map(
    ({ field, message }) => `${field ?? "all"}: ${message}`,
  );

test("a secret that its tool can use has no faults", () => {
  expect(faultsOf("mail.send", smtp)).toEqual([]);
  expect(faultsOf("mail.send", { ...smtp, secure: false, user: "agent", pass: "swordfish", imapHost: "mail" })).toEqual(
    [],
  );
  expect(faultsOf("llm.anthropic", "sk-ant-0123456789")).toEqual([]);
  expect(faultsOf("calendar.read", { url: "https://cal.example.org/", user: "agent", pass: "swordfish" })).toEqual([]);
  expect(faultsOf("mail.read", { host: "imap.example.org", user: "a", pass: "swordfish" })).toEqual([]);
  expect(faultsOf("weather.read", "anything at all")).toEqual([]);
});

test("what is no JSON is told with the fields that are expected, and without anything of the value", () => {
  const told = faultsOf("mail.send", "not a json, swordfish").join();
  expect(told).toMatch(/^all: expected a JSON object with host, port, from, and optionally secure, user, pass/);
  expect(told).not.toContain("swordfish");
  expect(faultsOf("calendar.write", "[1]")).toEqual(["all: expected a JSON object with url, user, pass"]);
  expect(faultsOf("llm.anthropic", "KEY = swordfish").join()).toMatch(/^all: expected the key as it is/);
});

test("each field that is missing or unfit is named with what is expected, and without its value", () => {
  expect(faultsOf("mail.send", { host: "smtp example", port: "587", from: "Agent <a@b.c>" })).toEqual([
    "host: expected a host's name or address, as text",
    "port: expected a whole number from 1 to 65535",
    "from: expected a plain address such as agent@example.org",
  ]);
  expect(faultsOf("mail.send", { port: 25 })).toEqual([
    "host: is missing; expected a host's name or address, as text",
    "from: is missing; expected a plain address such as agent@example.org",
  ]);
  expect(faultsOf("mail.send", { ...smtp, user: "agent" })).toEqual([
    "pass (needed with user): expected both or neither",
  ]);
  expect(faultsOf("mail.read", { host: "imap", port: 70_000, secure: "yes", user: "", pass: "swordfish" })).toEqual([
    "user: expected text that is not empty",
    "port: expected a whole number from 1 to 65535",
    "secure: expected true or false, without quotes",
  ]);
  expect(faultsOf("crm.write", { url: "example.org", user: "a", pass: "b" })).toEqual([
    "url: expected an address that begins with https:// or http://",
  ]);
});
