import { createHash } from "node:crypto";

/** What the Messages API takes as the name of a tool. */
const acceptedName = /^[a-zA-Z0-9_-]{1,128}$/;

const maxLength = 128;

/**
 * A tool's name as the Messages API accepts it: a dot becomes `--`, a hyphen `-_`, any other character that is not
 * accepted `-x<hex>-`. No two names become one, and `toolNameOf` undoes it. A name that would be too long becomes a hash
 * and its head, which only the list of advertised tools can undo; no other name begins with `-h`.
 */
export function apiNameOf(name: string): string {
  const encoded = name.replaceAll(/[^a-zA-Z0-9_]/g, (char) => {
    if (char === ".") return "--";
    if (char === "-") return "-_";
    return `-x${char.charCodeAt(0).toString(16)}-`;
  });
  if (encoded === "") return "-x-";
  if (encoded.length <= maxLength) return encoded;
  const hash = createHash("sha256").update(JSON.stringify(name)).digest("hex").slice(0, 40);
  return `-h${hash}-${encoded}`.slice(0, maxLength);
}

/**
 * The name of the tool that the model meant by `apiName`: one of `advertised` where it is, else what the spelling says.
 * A name that no tool could have been given is returned as it is: the gate knows no such tool.
 */
export function toolNameOf(apiName: string, advertised: ReadonlyMap<string, string>): string {
  const known = advertised.get(apiName);
  if (known !== undefined) return known;
  const name = decode(apiName);
  return acceptedName.test(apiName) && apiNameOf(name) === apiName ? name : apiName;
}

function decode(apiName: string): string {
  return apiName.replaceAll(/--|-_|-x([0-9a-f]{0,4})-/g, (code, hex: string | undefined) => {
    if (code === "--") return ".";
    if (code === "-_") return "-";
    return hex === undefined || hex === "" ? "" : String.fromCharCode(Number.parseInt(hex, 16));
  });
}
