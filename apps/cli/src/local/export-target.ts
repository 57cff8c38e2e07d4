/** What Windows takes for a device, whatever stands after the dot. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/**
 * Says why a file that the server names is not written at this path of a folder, in words that follow the path; undefined
 * where it can be: it leads out of the folder, is hidden such as `.git`, a device, or of a kind that is no page's. The
 * names are the server's.
 */
export function findTargetProblem(path: string, platform: NodeJS.Platform = process.platform): string | undefined {
  for (const part of path.split("/")) {
    if (/^\.{0,2}$/.test(part.trim())) return "its path has an empty part, . or ..";
    if (/^[\p{Default_Ignorable_Code_Point}\p{Cf}\s]*(?:\.|git~\d)/iu.test(part)) return "it is a hidden file";
    if (part.includes("\\") || part.includes("\0")) return "its path has a backslash or NUL";
    if (platform === "win32" && (deviceName.test(part) || /[:. ]$|:/.test(part)))
      return "its path has a name that Windows takes for something else";
  }
  return /\.md$/i.test(path) ? undefined : "it is no Markdown file, as the file of a page is";
}
