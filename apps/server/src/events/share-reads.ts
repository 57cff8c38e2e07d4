/** Reads that several ask for at once are made once, and only so many at the same time. */
export interface SharedReads<T> {
  /** What `read` finds. Who asks with the same key while it is under way gets the same. */
  read(key: string, read: () => Promise<T>): Promise<T>;
}

/** Shares reads, at most `atOnce` under way: a thousand readers must not take every connection, nor hold a page each. */
export function shareReads<T>(atOnce: number): SharedReads<T> {
  const underWay = new Map<string, Promise<T>>();
  const line: (() => void)[] = [];
  let busy = 0;

  async function takeTurn(read: () => Promise<T>): Promise<T> {
    if (busy >= atOnce) await new Promise<void>((go) => line.push(go));
    else busy += 1;
    try {
      return await read();
    } finally {
      const next = line.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  }

  return {
    async read(key, read) {
      const known = underWay.get(key);
      if (known !== undefined) return await known;
      const reading = takeTurn(read).finally(() => underWay.delete(key));
      underWay.set(key, reading);
      return await reading;
    },
  };
}
