/** The text of a `pg_snapshot` that somebody has kept: `xmin:xmax:xid,xid,…`. */
const form = /^(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20}){0,999})?)$/;

const largest = 2n ** 63n;

/**
 * True where the database would read `text` as a snapshot. One that comes back from a client must pass here first: the
 * database answers any other with an error.
 */
export function isSnapshot(text: string): boolean {
  const [, xmin, xmax, running] = form.exec(text) ?? [];
  if (xmin === undefined || xmax === undefined || running === undefined) return false;
  const from = BigInt(xmin);
  const to = BigInt(xmax);
  if (from === 0n || from > to || to >= largest) return false;
  let before = 0n;
  for (const id of running === "" ? [] : running.split(",").map(BigInt)) {
    if (id < from || id >= to || id <= before) return false;
    before = id;
  }
  return true;
}
