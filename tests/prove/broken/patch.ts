/** A change of one place in a file of the repository. */
export interface Patch {
  /** From the root. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The file's text with every patch for it. Throws where a patch does not fit: the file has changed, and so must the patch. */
export function applyPatches(file: string, text: string, patches: readonly Patch[]): string {
  let patched = text;
  for (const { from, to } of patches.filter((patch) => patch.file === file)) {
    if (patched.split(from).length !== 2)
      throw new Error(`A broken engine changes ${file} at a place that is not there once: ${from}`);
    patched = patched.replace(from, () => to);
  }
  return patched;
}
