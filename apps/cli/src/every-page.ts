/** One page of a list, and where the next begins. */
interface Page<T> {
  readonly rows: readonly T[];
  readonly nextCursor: string | null;
}

/** All rows of a list, page after page; `read` is given what says where its page begins. */
export async function readEveryPage<T>(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const rows: T[] = [];
  let page = await read({ limit: 200 });
  rows.push(...page.rows);
  while (page.nextCursor !== null) {
    page = await read({ limit: 200, cursor: page.nextCursor });
    rows.push(...page.rows);
  }
  return rows;
}
