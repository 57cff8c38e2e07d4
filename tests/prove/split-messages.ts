/** Cuts a stream into messages of the Postgres protocol; a client's first one has a length but no type. */
export function splitMessages(
  hasStartup: boolean,
  take: (type: string, body: Buffer, raw: Buffer) => void,
): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStartup = hasStartup;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isStartup ? 4 : 5;
      if (rest.length < head) return;
      const size = rest.readInt32BE(head - 4) + head - 4;
      if (rest.length < size) return;
      const raw = rest.subarray(0, size);
      rest = rest.subarray(size);
      take(isStartup ? "" : String.fromCharCode(raw[0] ?? 0), raw.subarray(head), raw);
      isStartup = false;
    }
  };
}
