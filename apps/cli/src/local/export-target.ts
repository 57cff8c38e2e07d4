import { lstat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CliError } from "../exit.ts";

/** What Windows takes for a device, whatever stands after the dot. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/**
 * Where a file that the server names is written below `folder`. Throws CliError where that is none of the folder's own
 * places: outside of it, hidden such as `.git`, a device, or beyond a link. The names are the server's, and what stands in
 * the folder may be another's repository.
 */
export async function findExportTarget(
  folder: string,
  path: string,
  platform: NodeJS.Platform = process.platform,
): Promise<string> {
  const parts = path.split("/");
  for (const part of parts) {
    if (/^\.{0,2}$/.test(part.trim())) throw refuse(path, "a path with an empty part, . or ..");
    if (/^[\p{Default_Ignorable_Code_Point}\p{Cf}\s]*(?:\.|git~\d)/iu.test(part)) throw refuse(path, "a hidden file");
    if (part.includes("\\") || part.includes("\0")) throw refuse(path, "a path with a backslash or NUL");
    if (platform === "win32" && (deviceName.test(part) || /[:. ]$|:/.test(part))) {
      throw refuse(path, "a name that Windows takes for something else");
    }
  }
  let target = resolve(folder);
  for (const part of parts) {
    target = join(target, part);
    const found = await lstat(target).catch(() => undefined);
    if (found?.isSymbolicLink() === true) throw refuse(path, "a file behind a link, which may lead anywhere");
  }
  return target;
}

function refuse(path: string, what: string): CliError {
  return new CliError("error", `The server names ${what}: ${JSON.stringify(path)}. It was not written.`);
}
