import { createHash } from "node:crypto";
import PostalMime from "postal-mime";
import { describe, expect, test } from "vitest";
import { digestMail, type MailText, renderMail } from "./mail-message.ts";

const fill = {
  from: "agent@example.com",
  date: "Mon, 30 Nov 2026 12:00:00 +0000",
  messageId: "<one@example.com>",
  contentOf: () => "",
};
const mail: MailText = { to: ["a@example.org"], subject: "Hello", text: "One line" };
const bytes = Buffer.from(Array.from({ length: 300 }, (_, n) => n % 256));
const handle = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

describe("a rendered message", () => {
  test("is, for a short plain mail, exactly this", () => {
    expect(
      renderMail({ ...mail, cc: ["c@example.org"], bcc: ["d@example.org"], replyTo: "r@example.org" }, fill).toString(),
    ).toBe(
      [
        "From: agent@example.com",
        "To: a@example.org",
        "Cc: c@example.org",
        "Reply-To: r@example.org",
        "Subject: Hello",
        "Message-ID: <one@example.com>",
        "Date: Mon, 30 Nov 2026 12:00:00 +0000",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "One line",
        "",
      ].join("\r\n"),
    );
  });

  test.each([
    ["", "plain"],
    ["Grüße: Re: =?utf-8?Q?x?= 🔑", "ñ 🔑\n.\n..\nFrom here\n{{path}} =3D trailing \n\ttabs\t\n"],
    ["x".repeat(250), "y".repeat(5_000)],
    ["é".repeat(250), "日本語".repeat(2_000)],
    ["🔑".repeat(120), `--=_countersign\n--=_countersign--\n${"=".repeat(200)}`],
  ])("is read back by another program as it was written (%#)", async (subject, text) => {
    const attachments = [
      { handle, filename: "plain.bin" },
      { handle, filename: 'naïve "quotes"; x=y 🔑 日本語 and a name that is quite long.pdf' },
    ];
    for (const attached of [undefined, attachments]) {
      const rendered = renderMail(
        { ...mail, subject: subject || "x", text, attachments: attached },
        { ...fill, contentOf: () => bytes.toString("base64") },
      );
      const read = await PostalMime.parse(rendered, { attachmentEncoding: "arraybuffer" });
      expect(read.subject).toBe(subject || "x");
      expect(read.text?.replace(/\n+$/, "")).toBe(text.replace(/\n+$/, ""));
      expect(read.attachments.map(({ filename }) => filename)).toEqual(attached?.map(({ filename }) => filename) ?? []);
      for (const { content } of read.attachments) expect(Buffer.from(content as ArrayBuffer)).toEqual(bytes);
      const lines = rendered.toString("latin1").split("\r\n");
      expect(lines.filter((line) => line.length > 998 || /[\r\n]|[^\t\x20-\x7e]/.test(line))).toEqual([]);
    }
  });

  test("of fifty recipients has no line that is too long, and every one of them", async () => {
    const to = Array.from({ length: 50 }, (_, n) => `${"n".repeat(50)}${n}@sub.example.org`);
    const rendered = renderMail({ ...mail, to }, fill);
    expect((await PostalMime.parse(rendered)).to?.map(({ address }) => address)).toEqual(to);
    expect(
      Math.max(
        ...rendered
          .toString()
          .split("\r\n")
          .map((line) => line.length),
      ),
    ).toBeLessThan(200);
  });
});

describe("the digest that a person approves", () => {
  const whole: MailText = {
    ...mail,
    cc: ["c@example.org"],
    bcc: ["d@example.org"],
    replyTo: "r@example.org",
    attachments: [{ handle, filename: "a.pdf" }],
  };

  test("is the same for the same mail, whatever is filled in later", () => {
    expect(digestMail(whole)).toBe(digestMail(structuredClone(whole)));
    expect(digestMail(whole)).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each<[string, Partial<MailText>]>([
    ["a recipient", { to: ["b@example.org"] }],
    ["a copy", { cc: [] }],
    ["a blind copy", { bcc: ["e@example.org"] }],
    ["where answers go", { replyTo: undefined }],
    ["the subject", { subject: "hello" }],
    ["the text by one byte", { text: "One line." }],
    ["an attachment's name", { attachments: [{ handle, filename: "b.pdf" }] }],
    ["an attachment's content", { attachments: [{ handle: handle.replace(/.$/, "x"), filename: "a.pdf" }] }],
    [
      "an attachment more",
      {
        attachments: [
          { handle, filename: "a.pdf" },
          { handle, filename: "a.pdf" },
        ],
      },
    ],
  ])("is another when %s changes", (_what, change) => {
    expect(digestMail({ ...whole, ...change })).not.toBe(digestMail(whole));
  });
});
