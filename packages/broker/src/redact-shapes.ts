interface Shape {
  readonly pattern: RegExp;
  readonly replacement: string;
}

/**
 * What looks like a secret, whoever's it is. Every pattern is bounded or made of one character class at a time, so each
 * takes time in the order of the text's length.
 */
const shapes: readonly Shape[] = [
  {
    pattern: /-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----[^-]{0,20000}(?:-----END \1-----|$)/g,
    replacement: "[redacted private key]",
  },
  {
    pattern: /\b([A-Za-z][A-Za-z0-9+.-]{0,30}:\/\/)(?!\[redacted)[^\s/?#"'<>]{1,512}@/g,
    replacement: "$1[redacted login]@",
  },
  {
    // Pairs alone: up to the end of the line it would hide whatever else stands there.
    pattern:
      /\b((?:set-)?cookie["']?\s{0,8}[:=]\s{0,8}["']?)(?!\[redacted)[^\s;"']{1,4096}(?:; ?[\w.%-]{1,256}=[^\s;"']{0,4096}){0,64}/gi,
    replacement: "$1[redacted cookie]",
  },
  {
    pattern:
      /\b((?:proxy-)?authorization["']?\s{0,8}[:=]\s{0,8}["']?(?![A-Za-z][\w-]{0,30} +\[redacted)(?:[A-Za-z][\w-]{0,30} +)?)(?!\[redacted)[^\s"',;]{4,8192}/gi,
    replacement: "$1[redacted credential]",
  },
  { pattern: /\b(bearer +)[A-Za-z0-9._~+/=-]{8,8192}/gi, replacement: "$1[redacted token]" },
  { pattern: /\b(basic +)[A-Za-z0-9+/_-]{12,4096}={0,2}(?![A-Za-z])/gi, replacement: "$1[redacted login]" },
  {
    pattern:
      /\b((?:x-)?(?:api[_-]?key|access[_-]?token|refresh[_-]?token|auth[_-]?token|client[_-]?secret|password|passwd)["']?\s{0,8}[:=]\s{0,8}["']?)(?!\[redacted)[^\s"'&,;<>]{6,8192}/gi,
    replacement: "$1[redacted credential]",
  },
  { pattern: /\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b/g, replacement: "[redacted AWS key]" },
  { pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255})/g, replacement: "[redacted GitHub token]" },
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
 * blocks, cookies, well-known tokens. For display only: what is stored and run is the text itself. It finds shapes, so it
 * is no substitute for scrubbing by value.
 */
export function redactShapes(text: string): string {
  let redacted = text;
  for (const { pattern, replacement } of shapes) {
    redacted = redacted.replace(pattern, (match: string, kept: unknown) => {
      const before = typeof kept === "string" && replacement.startsWith("$1") ? kept : "";
      return acting.test(match.slice(before.length)) ? match : replacement.replace("$1", () => before);
    });
  }
  return redacted;
}
