/** A name as names are compared: without case, and in one form of what Unicode writes in several. */
export function foldName(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** Text as words are compared: as `foldName`, and without the accents of European letters. */
export function foldText(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase();
}
