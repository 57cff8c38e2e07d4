import { describe, expect, test } from "vitest";
import { findAddressFault } from "./mail-address.ts";

describe("one plain address passes", () => {
  test.each([
    "a@b.co",
    "first.last@example.com",
    "user+tag@mail.example.co.uk",
    "o'brien_1{x}~?^`|*/&$#-@example.com",
    "x@xn--mnchen-3ya.de",
    "x@example.xn--p1ai",
    "1@2.example",
    `${"a".repeat(64)}@${"b".repeat(63)}.example`,
  ])("%s", (address) => {
    expect(findAddressFault(address)).toBeUndefined();
  });
});

describe("anything else is refused, saying what was found", () => {
  test.each([
    ["what looks like a credential", "password=a@example.com"],
    ["empty", ""],
    ["no @", "example.com"],
    ["no local part", "@example.com"],
    ["no domain", "a@"],
    ["two @", "a@b@example.com"],
    ["a display name", "Anna <a@example.com>"],
    ["brackets", "<a@example.com>"],
    ["a list", "a@example.com,b@example.org"],
    ["a list with ;", "a@example.com;b@example.org"],
    ["a group", "team:a@example.com;"],
    ["a comment", "a(x)@example.com"],
    ["a quoted part", '"a b"@example.com'],
    ["a quoted @", '"a@evil.example"@example.com'],
    ["a backslash", "a\\@example.com"],
    ["a percent route", "a%evil.example@example.com"],
    ["a bang path", "evil.example!a@example.com"],
    ["a source route", "@evil.example:a@example.com"],
    ["CR LF", "a@example.com\r\nBcc: e@evil.example"],
    ["LF", "a@example.com\nRCPT TO:<e@evil.example>"],
    ["CR", "a@example.com\r"],
    ["LF at the end", "a@example.com\n"],
    ["NUL", "a@example.com\0"],
    ["a space around", " a@example.com"],
    ["a tab", "a@exam\tple.com"],
    ["a no-break space", "a@example.com\u00a0"],
    ["a zero-width space", "a\u200b@example.com"],
    ["a right-to-left override", "a\u202e@example.com"],
    ["a Cyrillic look-alike", "\u0430dmin@example.com"],
    ["a full-width @", "a\uff20example.com"],
    ["a Cyrillic domain", "a@ex\u0430mple.com"],
    ["an ideographic full stop", "a@example\u3002com"],
    ["half a surrogate pair", "a\ud800@example.com"],
    ["DEL", "a\u007f@example.com"],
    ["a dot first", ".a@example.com"],
    ["a dot last", "a.@example.com"],
    ["two dots", "a..b@example.com"],
    ["a domain of one label", "a@localhost"],
    ["a dot after the domain", "a@example.com."],
    ["an empty label", "a@example..com"],
    ["a hyphen first", "a@-example.com"],
    ["a hyphen last", "a@example-.com"],
    ["an underscore in the domain", "a@ex_ample.com"],
    ["an address of numbers", "a@127.0.0.1"],
    ["an address literal", "a@[127.0.0.1]"],
    ["a port", "a@example.com:25"],
    ["a mailto link", "mailto:a@example.com"],
    ["an SMTP parameter", "a@example.com>SIZE=1"],
    ["a long local part", `${"a".repeat(65)}@example.com`],
    ["a long label", `a@${"b".repeat(64)}.example`],
    ["a long address", `a@${"b.".repeat(130)}example`],
  ])("%s", (_what, address) => {
    const fault = findAddressFault(address);
    expect(fault).toBeTypeOf("string");
    expect(fault).toMatch(/^[\P{Cc}]*$/u);
  });
});
