interface Shape {
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** What is called a secret by the end of its name: whatever stands in front, as in `DB_PASSWORD`, does not matter. */
const passwordNames =
  "(?:api|access|secret|private|signing|encryption)[_-]?key|(?:access|refresh|auth)[_-]?token|client[_-]?secret|password|passwd|passphrase";

/** What is often called so and is none: only where the value looks it. */
const tokenNames = "token|secret|signature|(?<![a-z])(?:sig|pwd)";

const namesSecret = new RegExp(`(?:cookie|authorization|${passwordNames}|${tokenNames})$`, "i");

/** Between a name and its value, in text and in JSON; never over the end of a line. */
const is = String.raw`["']?[ \t]{0,8}[:=][ \t]{0,8}["']?`;

/** The end of a line, as it stands or escaped, and how the next one is set in: in a diff, too. */
const nextLine = String.raw`(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n)[-+ \t]{0,64}`;
const keyHeader = String.raw`${nextLine}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{0,200})?`;
/** Alone on its line, and longer than a word; the paths of a system are of small letters, too. */
const keyLine = String.raw`(?=[a-z0-9+/]{0,200}[A-Z])[A-Za-z0-9+/]{40,}={0,2}(?=[ \t]{0,64}(?:[\r\n\\"'…]|-----|$))`;
const lastKeyLine = `(?=[a-z0-9+/]{0,80}[A-Z])[A-Za-z0-9+/]{1,80}={0,2}(?:${nextLine}=[A-Za-z0-9+/]{4})?(?=(?:${nextLine})?-----END )`;

/**
 * What looks like a secret, whoever's it is. No pattern takes in the end of a line or a quote with what it hides, but
 * between the lines of a key, which are of base64 alone: whoever approves the copy sees all else. Every pattern is bounded
 * or made of one character class at a time, so each takes time in the order of the text's length.
 */
const shapes: readonly Shape[] = [
  {
    pattern: new RegExp(
      `(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:${keyHeader}){0,8})${keyLine}(?:${nextLine}${keyLine})*(?:${nextLine}${lastKeyLine})?`,
      "g",
    ),
    replacement: "$1[redacted private key]",
  },
  {
    pattern: /\b([A-Za-z][A-Za-z0-9+.-]{0,30}:\/\/)(?!\[redacted)[^\s/?#"'<>]{1,512}@/g,
    replacement: "$1[redacted login]@",
  },
  {
    // Pairs alone: up to the end of the line it would hide whatever else stands there.
    pattern: new RegExp(
      String.raw`\b((?:set-)?cookie${is})(?!\[redacted)[^\s;"']{1,4096}(?:; ?[\w.%-]{1,256}=[^\s;"']{0,4096}){0,64}`,
      "gi",
    ),
    replacement: "$1[redacted cookie]",
  },
  {
    pattern: new RegExp(
      String.raw`\b((?:proxy-)?authorization${is}(?![A-Za-z][\w-]{0,30} +\[redacted)(?:[A-Za-z][\w-]{0,30} +)?)(?!\[redacted)[^\s"',;]{4,8192}`,
      "gi",
    ),
    replacement: "$1[redacted credential]",
  },
  { pattern: /\b(bearer(?:[ \t]+|%20))[A-Za-z0-9._~+/=-]{8,8192}/gi, replacement: "$1[redacted token]" },
  { pattern: /\b(basic(?:[ \t]+|%20))[A-Za-z0-9+/_-]{12,4096}={0,2}(?![A-Za-z])/gi, replacement: "$1[redacted login]" },
  {
    pattern: new RegExp(String.raw`((?:${passwordNames})${is})(?!\[redacted)[^\s"'&,;<>]{6,8192}`, "gi"),
    replacement: "$1[redacted credential]",
  },
  {
    pattern: new RegExp(
      String.raw`((?:${tokenNames})${is})(?=[a-z._~+/=%-]{0,64}[0-9])[\w.~+=%-][\w.~+/=%-]{7,8191}`,
      "gi",
    ),
    replacement: "$1[redacted credential]",
  },
  {
    pattern: new RegExp(
      String.raw`(--(?:[\w-]{0,40}-)?(?:${passwordNames}|token|secret)[ \t]{1,8}["']?)(?!\[redacted)[^\s"'&,;<>-][^\s"'&,;<>]{5,8191}`,
      "gi",
    ),
    replacement: "$1[redacted credential]",
  },
  {
    pattern:
      /(?<=\b(?:curl|wget|https?)\b[^\n|;&]{0,200})( (?:-u|--user)[ =]?["']?[^\s:"'@/[]{1,100}:)(?!\[redacted)[^\s"'@/]{3,512}/g,
    replacement: "$1[redacted login]",
  },
  { pattern: /\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b/g, replacement: "[redacted AWS key]" },
  { pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255})/g, replacement: "[redacted GitHub token]" },
  { pattern: /\b(?:npm|hf)_[A-Za-z0-9]{20,255}/g, replacement: "[redacted token]" },
  { pattern: /\bSG\.[\w-]{10,64}\.[\w-]{10,128}/g, replacement: "[redacted API key]" },
  { pattern: /\bglpat-[\w-]{16,128}/g, replacement: "[redacted GitLab token]" },
  { pattern: /\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{8,512}/g, replacement: "[redacted Slack token]" },
  { pattern: /\bhooks\.slack\.com\/services\/[\w/]{8,256}/g, replacement: "hooks.slack.com/services/[redacted]" },
  { pattern: /\bsk-[A-Za-z0-9_-]{16,512}/g, replacement: "[redacted API key]" },
  { pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,255}/g, replacement: "[redacted API key]" },
  { pattern: /\bAIza[\w-]{35}/g, replacement: "[redacted Google key]" },
  { pattern: /\bya29\.[\w-]{16,2048}/g, replacement: "[redacted Google token]" },
  {
    // From the first that it may be in a run of such letters: where that is none, what stands behind it is none either.
    pattern: /(?<![\w-])(?=([\w-]*?)\beyJ)\1eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g,
    replacement: "$1[redacted token]",
  },
];

/**
 * What a shell would obey: it stays in sight even where it stands in the shape of a secret, since whoever approves the
 * copy approves the text itself. A semicolon before a further cookie is none.
 */
const acting = /[|&<>`]|\$\(|;(?! ?[\w.%-]{1,256}=)/;

/**
 * A copy for people to look at, with whatever has the shape of a secret replaced: bearer tokens, logins in URLs, key
 * blocks, cookies, well-known tokens, and what `key` says to be one, where the text stands under a key. For display only:
 * what is stored and run is the text itself. It finds shapes, so it is no substitute for scrubbing by value. JSON is to be
 * given string by string.
 */
export function redactShapes(text: string, key = ""): string {
  const name = namesSecret.exec(key)?.[0];
  if (name === undefined) return redact(text);
  const named = `${name}: `;
  return redact(`${named}${text}`).slice(named.length);
}

/** Something of every shape: where none of it stands there is nothing to look for, as in almost every text. */
const hint =
  /-----BEGIN|:\/\/|cookie|authorization|bearer|basic|key|token|secret|passw|passphrase|sig|pwd|curl|wget|http|A[KSR][IO]A|AIDA|gh[pousr]_|github_pat|npm_|hf_|SG\.|glpat|xox|xapp|slack|sk-|[rs]k_|AIza|ya29|eyJ/i;

function redact(text: string): string {
  if (!hint.test(text)) return text;
  let redacted = text;
  for (const { pattern, replacement } of shapes) {
    redacted = redacted.replace(pattern, (match: string, kept: unknown) => {
      const before = typeof kept === "string" && replacement.startsWith("$1") ? kept : "";
      return acting.test(match.slice(before.length)) ? match : replacement.replace("$1", () => before);
    });
  }
  return redacted;
}
