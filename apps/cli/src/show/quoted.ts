import { makeVisible } from "../terminal/visible.ts";

/** One word of a shell. Quoted so that it stays one whatever is in it; what cannot be seen is made visible, and no longer matches. */
export function quoted(word: string): string {
  return /^[\w.:/@=-]+$/.test(word) ? word : `'${makeVisible(word).replaceAll("'", String.raw`'\''`)}'`;
}
