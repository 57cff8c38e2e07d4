const special = /[&[\\\]`|]/g;
const escape = /&#(38|9[1236]|124);/g;

/**
 * A page's name as it stands in a link, whatever is around that: `readLinkName` gives it back. Brackets in pairs stay as they
 * are; what would end the link, begin code or another link, or say an alias, is written as HTML does, `&#124;`.
 */
export function writeLinkName(name: string): string {
  const arePairs = !/[[\]]/.test(name.replaceAll(/(?!^)\[[^[\]]*\](?!\()/g, ""));
  return name.replaceAll(special, (sign, at: number) => {
    const stays =
      sign === "&"
        ? name.slice(at).search(escape) !== 0
        : sign === "\\"
          ? at < name.length - 1
          : arePairs && /[[\]]/.test(sign);
    return stays ? sign : `&#${sign.charCodeAt(0)};`;
  });
}

/** The name that a link goes to, of what stands between its brackets before a bar; blanks around it do not count. */
export function readLinkName(written: string): string {
  return written.trim().replaceAll(escape, (_all, code: string) => String.fromCharCode(Number(code)));
}
