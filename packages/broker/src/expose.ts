/** A text as it reads once its escapes are taken away, and where in the text that was. */
export interface Exposed {
  readonly text: string;
  /** From here on it may read otherwise once more text follows. */
  readonly settled: number;
  /** Where in the text that begins which stands at this place, with the whole of its escape. */
  startOf(at: number): number;
  /** Where that ends which stands in front of this place. */
  endOf(at: number): number;
}

const hex = "[0-9a-fA-F]";
const letter = "[A-Za-z0-9+/_-]";

/** UTF-8, each byte behind `sign`, and any single byte that `single` allows. */
function bytesBehind(sign: string, single: string): string {
  const next = `${sign}[89abAB]${hex}`;
  return `${sign}(?:[cdCD]${hex}${next}|[eE]${hex}(?:${next}){2}|[fF][0-7](?:${next}){3}|${single})`;
}

/** Behind a first backslash: the code of a character, or bytes. */
const coded = new RegExp(String.raw`u(${hex}{4})|u\{(${hex}{1,6})\}|(${bytesBehind("\\\\*x", `${hex}{2}`)})`, "y");
const encoded = new RegExp(bytesBehind("%", `[0-7]${hex}`), "y");
const entity = new RegExp(`&(?:#([0-9]{1,7})|#[xX](${hex}{1,6})|(amp|lt|gt|quot|apos));`, "y");
const requoted = /'(?:'|"'"')+/y;
const softBreak = /=(?:\r?\n|(?:\\+r)?\\+n)/y;
/** The end of a line of base64, within it. */
const wrap = new RegExp(String.raw`\r?\n[ \t]*(?<=${letter}{16}\r?\n[ \t]*)(?=${letter})`, "y");

/** The beginning of an escape, at the end of a text. */
const unfinished = new RegExp(
  [
    String.raw`\\+(?:u${hex}{0,3}|u\{${hex}{0,6}|(?:x${hex}{2}\\+){0,3}x${hex}{0,2})?`,
    `(?:%${hex}{2}){0,3}%${hex}?`,
    `%[c-fC-F]${hex}(?:%[89abAB]${hex}){0,2}`,
    String.raw`&#?[A-Za-z0-9]{0,8}|'(?:'|"'"')*(?:"(?:'"?)?)?|"+|=(?:3|\r)?|[\ud800-\udbff]`,
    String.raw`(?<=${letter}{16})(?:\r|\r?\n[ \t]*)`,
  ]
    .map((form) => `(?:${form})$`)
    .join("|"),
);

const longestUnfinished = 64;
const anySign = /[\\%&'"=\r\n\ud800-\udbff]/;

/** Deeper nested escapes are somebody's own invention. */
const mostLevels = 8;

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * The text without its escapes, of whatever kinds and however deep they are nested; undefined where it holds none. What
 * was escaped and what was not then read the same, so this is for finding a text, not for reading it.
 */
export function expose(text: string): Exposed | undefined {
  let exposed = text;
  const levels: Level[] = [];
  while (levels.length < mostLevels && mayHoldEscape(exposed)) {
    const level = unescape(exposed);
    if (level === undefined) break;
    levels.push(level);
    exposed = level.text;
  }
  const from = Math.max(0, exposed.length - longestUnfinished);
  const tail = exposed.slice(from);
  const settled = anySign.test(tail) ? from + settledIn(tail) : exposed.length;
  if (levels.length === 0 && settled === exposed.length) return undefined;
  return {
    text: exposed,
    settled,
    startOf: (at) => levels.reduceRight((place, level) => level.startOf(place), at),
    endOf: (at) => levels.reduceRight((place, level) => level.endOf(place), at),
  };
}

/** An escape that is not finished may be the end of another one. */
function settledIn(tail: string): number {
  const at = tail.search(unfinished);
  return at === -1 ? tail.length : settledIn(tail.slice(0, at));
}

/** Quickly, since most texts hold none. */
function mayHoldEscape(text: string): boolean {
  for (const sign of ["\\", "%", "&", "''", "'\"'", '""', "=3D", "=\n", "=\r"]) if (text.includes(sign)) return true;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1))
    if (isLetter(text.charCodeAt(at - 2)) && isLetter(text.charCodeAt(at - 8)) && isLetter(text.charCodeAt(at - 16)))
      return true;
  return false;
}

function isLetter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 43 ||
    code === 45 ||
    code === 95
  );
}

interface Level {
  readonly text: string;
  /** Where the character at a place begins in the text before. */
  startOf(at: number): number;
  /** Where the character in front of a place ends in the text before. */
  endOf(at: number): number;
}

/** Takes away one level of escapes; undefined where there is none. */
function unescape(text: string): Level | undefined {
  // Where each escape's meaning lies here, and it itself in the text; between two of them all is as it was.
  const places: number[] = [];
  const ends: number[] = [];
  const starts: number[] = [];
  const endsBefore: number[] = [];
  let unescaped = "";
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (signs[text.charCodeAt(at)] !== 1) continue;
    const escape = readEscape(text, at);
    if (escape === undefined) continue;
    unescaped += text.slice(from, at);
    places.push(unescaped.length);
    unescaped += escape.meaning;
    ends.push(unescaped.length);
    starts.push(at);
    endsBefore.push(escape.end);
    from = escape.end;
    at = from - 1;
  }
  if (places.length === 0) return undefined;
  unescaped += text.slice(from);

  /** The last escape that begins at or before a place. */
  function escapeBefore(at: number): number | undefined {
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle] ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? undefined : low - 1;
  }

  return {
    text: unescaped,
    startOf(at) {
      const n = escapeBefore(at);
      if (n === undefined) return at;
      const [end = 0, start = 0, endBefore = 0] = [ends[n], starts[n], endsBefore[n]];
      return at < end ? start : endBefore + at - end;
    },
    endOf(at) {
      const n = escapeBefore(at - 1);
      if (n === undefined) return at;
      const [end = 0, endBefore = 0] = [ends[n], endsBefore[n]];
      return endBefore + Math.max(0, at - end);
    },
  };
}

interface Escape {
  readonly meaning: string;
  /** Where it ends in the text. */
  readonly end: number;
}

/** What begins with one of these may be an escape. */
const signs = new Uint8Array(65_536);
for (const sign of "\\%&'\"=\r\n") signs[sign.charCodeAt(0)] = 1;

/** The escape that begins at a place: backslashes of JSON, programs and shells; of URLs, HTML, quotes, and wrapped lines. */
function readEscape(text: string, at: number): Escape | undefined {
  switch (text[at]) {
    case "\\":
      return readBackslashes(text, at);
    case "%": {
      const bytes = matchAt(encoded, text, at);
      return bytes && { meaning: readBytes(bytes[0]), end: encoded.lastIndex };
    }
    case "&": {
      const found = matchAt(entity, text, at);
      if (found === undefined) return undefined;
      const [, decimal, hexadecimal, name = ""] = found;
      const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
      return { meaning: named[name] ?? readCode(code), end: entity.lastIndex };
    }
    case '"': {
      let end = at + 1;
      while (text[end] === '"') end += 1;
      return end === at + 1 ? undefined : { meaning: '"', end };
    }
    case "'":
      return matchAt(requoted, text, at) && { meaning: "'", end: requoted.lastIndex };
    case "=":
      if (text.startsWith("=3D", at)) return { meaning: "=", end: at + 3 };
      return matchAt(softBreak, text, at) && { meaning: "", end: softBreak.lastIndex };
    default:
      return matchAt(wrap, text, at) && { meaning: "", end: wrap.lastIndex };
  }
}

/** However many they are, they are those of one character. */
function readBackslashes(text: string, at: number): Escape | undefined {
  let end = at + 1;
  while (text[end] === "\\") end += 1;
  const next = text[end];
  // What the break parts belongs together.
  if (next === "=" && matchAt(softBreak, text, end) !== undefined) return undefined;
  if (next !== undefined && next !== "u" && next !== "x") return { meaning: controls[next] ?? next, end: end + 1 };
  const found = next === undefined ? undefined : matchAt(coded, text, end);
  if (found === undefined) return end === at + 1 ? undefined : { meaning: "\\", end };
  const [, utf16, braced, bytes] = found;
  if (bytes !== undefined) return { meaning: readBytes(bytes), end: coded.lastIndex };
  if (utf16 !== undefined) return { meaning: String.fromCharCode(Number.parseInt(utf16, 16)), end: coded.lastIndex };
  return { meaning: readCode(Number.parseInt(braced ?? "", 16)), end: coded.lastIndex };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** A single byte is the character of that number, as `\xf6` is. */
function readBytes(text: string): string {
  if (text.length <= 3) return String.fromCharCode(Number.parseInt(text.slice(-2), 16));
  const bytes = Buffer.from(text.replaceAll(/[^0-9a-fA-F]/g, ""), "hex");
  return bytes.toString("utf8");
}

function readCode(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}
