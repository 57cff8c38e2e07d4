import type { Assignment } from "unbash";

const tempFolder = /^=("?)(?:\$\(|`)\s*mktemp\s+(?:-d|--directory)(?:\s+-t)?(?:\s+(?:\/tmp\/)?[\w.-]+)?\s*(?:\)|`)\1$/;

/** `tmp="$(mktemp -d)"`, also with a template, if it stays in the folder for temporary files. */
export function isTempFolder({ name, text, append, index }: Assignment): boolean {
  return append !== true && index === undefined && tempFolder.test(text.slice(name.length));
}
