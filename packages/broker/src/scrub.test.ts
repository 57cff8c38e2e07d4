import { processorTimeOf } from "@countersign/db/testing/processor-time.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFinder } from "./find-needles.ts";
import { needlesOf, type HeldValue } from "./needles.ts";
import { createScrubber } from "./scrub.ts";

const canary = 'canary/+"\n-ö😀 value';

/** Texts as tools and servers write them: words, punctuation, other scripts, halves of pairs. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
    fc.constantFrom(...' "\\/%+\n\r\0{}[]:=&ab0'.split(""), "\ud800"),
  ),
});

const unicode = (text: string, set: RegExp, up = false) =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(set, (unit) => {
      const code = unit.charCodeAt(0).toString(16).padStart(4, "0");
      return `\\u${up ? code.toUpperCase() : code}`;
    });

/** How other programs write a text into theirs. */
const writers = [
  { write: (text: string) => JSON.stringify(text).slice(1, -1) },
  { write: (text: string) => unicode(text, /[<>&]/g) },
  { write: (text: string) => unicode(text, /[<>&'+]|[^\0-\x7f]/g, true).replaceAll('\\"', "\\u0022") },
  { write: (text: string) => encodeURIComponent(text) },
  { write: (text: string) => text.replaceAll("'", "'\\''") },
  { write: (text: string) => text.replaceAll("'", `'"'"'`) },
  { write: (text: string) => text.replaceAll('"', '""') },
  {
    write: (text: string) =>
      text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
  },
  { write: (text: string) => text.replaceAll(/[^A-Za-z0-9]/gu, (sign) => `&#x${sign.codePointAt(0)?.toString(16)};`) },
  { write: (text: string) => text.replaceAll(/[^A-Za-z0-9 ]/gu, (sign) => (sign.length > 1 ? sign : `\\${sign}`)) },
];

/** As a mail carries it. */
const carry = (text: string) => text.replaceAll("=", "=3D").replaceAll(/.{20}(?=.)/gsu, "$&=\r\n");

const awkward = [
  `pa&ss<w>o'rd/+"x=1`,
  "tr\u00e4um \u{1f600} & 'mehr' wagen",
  'aaaa"""aaaa',
  'back\\slash\\\\new"s',
  "ends in quotes''",
];
const awkwardSecret = fc.constantFrom(...awkward);

/** Secret values: eight characters or more, from a small alphabet too, so that they overlap one another and themselves. */
const secretText = fc
  .oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "/", "+"), minLength: 8, maxLength: 12 }),
    fc.string({ unit: "grapheme", minLength: 8, maxLength: 40 }),
    fc.string({ unit: "binary", minLength: 8, maxLength: 40 }),
  )
  .filter((text) => text.isWellFormed() && Array.from(text).length >= 8 && !/redact|\[|\]|secret \d/.test(text));

const secrets = fc
  .array(secretText, { minLength: 1, maxLength: 4 })
  .map((values) => values.map((value, at): HeldValue => ({ name: `secret ${at}`, value })));

/** A text in which forms of the secrets lie, next to each other, overlapping or cut short. */
const poisoned = secrets.chain((values) => {
  const forms = needlesOf(values).map(({ text }) => text);
  const part = fc.oneof(
    anyText,
    fc.constantFrom(...forms),
    fc
      .tuple(fc.constantFrom(...forms), fc.nat(50))
      .map(([form, cut]) => form.slice(0, form.length - (cut % form.length))),
    fc.tuple(fc.constantFrom(...forms), fc.nat(50)).map(([form, cut]) => form.slice(cut % form.length)),
  );
  return fc.record({
    values: fc.constant(values),
    text: fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
  });
});

const cuts = fc.array(fc.nat(30), { maxLength: 60 });

/** The text in pieces of these lengths, the rest in one. */
function piecesOf(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return [...pieces, text.slice(at)];
}

function stream(values: readonly HeldValue[], pieces: readonly string[]): string {
  const through = createScrubber(values).createStream();
  return pieces.map((piece) => through.push(piece)).join("") + through.end();
}

describe("no form of a value survives", () => {
  test("whatever lies around it", () => {
    fc.assert(
      fc.property(poisoned, ({ values, text }) => {
        const clean = createScrubber(values).scrub(text);
        for (const { text: form } of needlesOf(values)) expect(clean.includes(form)).toBe(false);
      }),
    );
  });

  test("however the text is cut into pieces; joined they are the scrubbed whole", () => {
    fc.assert(
      fc.property(poisoned, cuts, ({ values, text }, lengths) => {
        expect(stream(values, piecesOf(text, lengths))).toBe(createScrubber(values).scrub(text));
      }),
      { numRuns: 500 },
    );
  });

  test("piece by piece of one character", () => {
    fc.assert(
      fc.property(poisoned, ({ values, text }) => {
        expect(stream(values, text.split(""))).toBe(createScrubber(values).scrub(text));
      }),
    );
  });

  test("KN24: a secret with a slash, a plus, a quote and a line end, in every form it can take", () => {
    const bytes = Buffer.from(canary);
    const padded = (n: number) => Buffer.concat([Buffer.alloc(n, "x"), bytes, Buffer.from("yz")]);
    const shown = [
      canary,
      JSON.stringify({ nested: canary }),
      JSON.stringify(JSON.stringify({ nested: canary })),
      JSON.stringify(canary).replaceAll("/", "\\/"),
      JSON.stringify(canary).replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
      `https://x/?token=${encodeURIComponent(canary)}`,
      new URLSearchParams({ token: canary }).toString(),
      encodeURIComponent(canary).toLowerCase(),
      canary.replace("\n", "\r\n"),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      ...[0, 1, 2, 3].map((n) => padded(n).toString("base64")),
      ...[0, 1, 2, 3].map((n) => padded(n).toString("base64url")),
    ];
    for (const text of shown) {
      const clean = createScrubber([{ name: "mail.send", value: canary }]).scrub(text);
      expect(clean).toContain("[redacted mail.send]");
      expect(clean).not.toMatch(/canary|63616e|Y2FuYXJ|NhbmFye|jYW5hcn/i);
    }
  });

  test("KN24: as other programs escape it, however deep", () => {
    fc.assert(
      fc.property(
        awkwardSecret,
        fc.array(fc.constantFrom(...writers), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        (value, ways, isCarried) => {
          const written = ways.reduce((text, { write }) => write(text), value);
          const shown = isCarried ? carry(written) : written;
          const values = [{ name: "k", value }];
          expect(createScrubber(values).scrub(`before ${shown} after`)).toBe("before [redacted k] after");
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("as other programs escape it, in pieces", () => {
    const part = fc.oneof(
      fc.constantFrom(..."\\%&'\"=\r\n3Dnux0041;<> ".split(""), "&amp;", "%25", "\\u00", "a".repeat(16)),
      fc
        .tuple(fc.constantFrom(...awkward), fc.array(fc.constantFrom(...writers), { maxLength: 2 }))
        .map(([value, ways]) => ways.reduce((text, { write }) => write(text), value)),
    );
    const values = awkward.map((value, at) => ({ name: `k${at}`, value }));
    const scrubber = createScrubber(values);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), cuts, (parts, lengths) => {
        const text = parts.join("");
        const through = scrubber.createStream();
        const told = piecesOf(text, lengths).map((piece) => through.push(piece));
        expect(told.join("") + through.end()).toBe(scrubber.scrub(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ["base64 in lines of 76", (bytes: Buffer) => bytes.toString("base64").replace(/.{76}/g, "$&\n")],
    ["base64 in lines of 64, set in", (bytes: Buffer) => bytes.toString("base64").replace(/.{64}/g, "$&\r\n    ")],
    ["base64 in lines, in JSON", (bytes: Buffer) => JSON.stringify(bytes.toString("base64").replace(/.{76}/g, "$&\n"))],
    ["hex by bytes", (bytes: Buffer) => bytes.toString("hex").replace(/..(?=.)/g, "$& ")],
    [
      "hex with colons",
      (bytes: Buffer) =>
        bytes
          .toString("hex")
          .toUpperCase()
          .replace(/..(?=.)/g, "$&:"),
    ],
    ["hex by twos", (bytes: Buffer) => bytes.toString("hex").replace(/.{4}(?=.)/g, "$& ")],
    [
      "hex by twos from the second byte on",
      (bytes: Buffer) => `ff${bytes.toString("hex")}`.replace(/.{4}(?=.)/g, "$& "),
    ],
  ])("as %s, also in the midst of something longer", (_way, write) => {
    const value = Array.from({ length: 200 }, (_, at) => String.fromCharCode(33 + ((at * 37) % 90))).join("");
    const scrubber = createScrubber([{ name: "k", value }]);
    const text = `a ${write(Buffer.from(value))} b`;
    expect(scrubber.scrub(text)).toContain("[redacted k]");
    expect(scrubber.scrub(text).length).toBeLessThan(40);
    const inside = write(Buffer.from(`${"x".repeat(100)}${value}${"y".repeat(100)}`));
    expect(scrubber.scrub(inside)).toContain("[redacted k]");
    const through = scrubber.createStream();
    expect(
      inside
        .split("")
        .map((piece) => through.push(piece))
        .join("") + through.end(),
    ).toBe(scrubber.scrub(inside));
  });

  test("nor of a value of 8 characters", () => {
    const scrubber = createScrubber([{ name: "pin", value: "8 chars!" }]);
    expect(scrubber.scrub("a8 chars!b 8%20chars! 8+chars%21")).toBe("a[redacted pin]b [redacted pin] [redacted pin]");
    expect(scrubber.scrub("OCBjaGFycyE=")).toMatch(/^\[redacted pin\]/);
  });
});

test("text without a value comes back as it was, whole or in pieces", () => {
  fc.assert(
    fc.property(secrets, anyText, cuts, (values, text, lengths) => {
      fc.pre(!needlesOf(values).some(({ text: form }) => text.includes(form)));
      expect(createScrubber(values).scrub(text)).toBe(text);
      expect(stream(values, piecesOf(text, lengths))).toBe(text);
    }),
  );
});

test("the finder sees each needle wherever it begins, as a plain search does", () => {
  const needle = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 8, maxLength: 11 });
  fc.assert(
    fc.property(
      fc.array(needle, { maxLength: 6 }),
      fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 80 }),
      (texts, text) => {
        const starts = new Map<number, number>();
        for (const one of texts)
          for (let at = text.indexOf(one); at !== -1; at = text.indexOf(one, at + 1))
            starts.set(at, Math.max(starts.get(at) ?? 0, at + one.length));
        const found = createFinder(texts.map((one) => ({ text: one, name: "n" }))).find(text);
        expect(new Map(found.map(({ start, end }) => [start, end]))).toEqual(
          new Map([...starts].toSorted(([a], [b]) => a - b)),
        );
      },
    ),
  );
});

describe("a secret that is JSON", () => {
  const smtp = JSON.stringify({
    host: "smtp.example.com",
    port: 587,
    user: "agent-login",
    pass: "the-password",
    from: "agent@example.com",
  });
  const scrubber = createScrubber([{ name: "mail.send", value: smtp }]);

  test("is taken out whole, and each string in it that opens something", () => {
    expect(scrubber.scrub(`a ${smtp} b`)).toBe("a [redacted mail.send] b");
    expect(scrubber.scrub("535 agent-login / the-password rejected")).toBe(
      "535 [redacted mail.send] / [redacted mail.send] rejected",
    );
    const login = Buffer.from("\0agent-login\0the-password").toString("base64");
    expect(scrubber.scrub(`AUTH PLAIN ${login}`)).not.toContain(login.slice(4, 20));
  });

  test("does not take out where it is for, nor a login that is the sender's address", () => {
    const text = "smtp.example.com:587 from agent@example.com";
    expect(scrubber.scrub(text)).toBe(text);
    const same = JSON.stringify({
      host: "h",
      user: "agent@example.com",
      pass: "the-password",
      from: "agent@example.com",
    });
    expect(createScrubber([{ name: "mail.send", value: same }]).scrub(text)).toBe(text);
  });
});

test("values that overlap in a text go as one, under one placeholder", () => {
  const scrubber = createScrubber([
    { name: "one", value: "abcdefghij" },
    { name: "two", value: "ghijklmnop" },
  ]);
  expect(scrubber.scrub("<abcdefghijklmnop>")).toBe("<[redacted one]>");
  expect(scrubber.scrub("<abcdefghijabcdefghij>")).toBe("<[redacted one][redacted one]>");
});

test("a stream passes on at once what cannot be the beginning of a value, and does not pile up what can", () => {
  const through = createScrubber([{ name: "x", value: "aaaaaaaa" }]).createStream();
  expect(through.push("plain text ")).toBe("plain text ");
  expect(through.push("then aaa")).toBe("then ");
  expect(through.push("b")).toBe("aaab");
  expect(through.push("a".repeat(20))).toBe("[redacted x]");
  for (let n = 0; n < 1_000; n += 1) expect(through.push("a".repeat(50))).toBe("");
  expect(through.push(" end") + through.end()).toBe(" end");
});

test("a megabyte is scrubbed of many values in a moment", () => {
  const values = Array.from({ length: 40 }, (_, at) => ({
    name: `s${at}`,
    value: `token-${at}-${"x".repeat(at)}-${at * 7919}`,
  }));
  const scrubber = createScrubber(values);
  const line =
    '2026-11-30T06:29:24Z GET /api/items?page=12 200 in 31 ms, token-ring, {"id": 1234567, "name": "Ann Example"}\n';
  const text = line.repeat(10_000);
  expect(processorTimeOf(() => expect(scrubber.scrub(text)).toBe(text))).toBeLessThan(2_000);
});
