import type postgres from "postgres";

/** The element type and the array type of what is built in; their numbers are the same in every server. */
const builtIn: readonly (readonly [element: number, array: number])[] = [
  [16, 1000], // boolean
  [17, 1001], // bytea
  [19, 1003], // name
  [20, 1016], // bigint
  [21, 1005], // smallint
  [23, 1007], // integer
  [25, 1009], // text
  [26, 1028], // oid
  [114, 199], // json
  [700, 1021], // real
  [701, 1022], // double precision
  [1042, 1014], // char
  [1043, 1015], // varchar
  [1082, 1182], // date
  [1114, 1115], // timestamp
  [1184, 1185], // timestamptz
  [1700, 1231], // numeric
  [2950, 2951], // uuid
  [3802, 3807], // jsonb
];

interface DriverOptions {
  readonly parsers: Record<number, ((text: string) => unknown) | undefined>;
  readonly serializers: Record<number, ((value: unknown) => unknown) | undefined>;
  readonly shared: { readonly typeArrayMap: Record<number, number> };
}

/**
 * Lets a client read and write arrays of the built-in types without asking the server for their numbers. The driver would
 * ask on every new connection, and where that connection is lost meanwhile the process dies of a rejection that nobody can
 * catch (postgres.js 3.4.9, porsager/postgres#1192, #1223).
 */
export function knowArrayTypes(sql: postgres.Sql): void {
  const { parsers, serializers, shared } = sql.options as unknown as DriverOptions;
  for (const [element, array] of builtIn) {
    const parse = parsers[element];
    const serialize = serializers[element] ?? String;
    parsers[array] = (text) => parseArray(text, parse ?? ((item) => item));
    serializers[array] = (value) => (Array.isArray(value) ? writeArray(value, serialize) : value);
    shared.typeArrayMap[element] = array;
  }
}

function writeArray(items: readonly unknown[], serialize: (value: unknown) => unknown): string {
  const parts = items.map((item) => {
    if (Array.isArray(item)) return writeArray(item, serialize);
    if (item === null) return "null";
    if (item === undefined) throw new TypeError("undefined cannot be stored in an array; null can");
    const text = String(serialize(item));
    return `"${special.test(text) ? text.replaceAll(specials, String.raw`\$&`) : text}"`;
  });
  return `{${parts.join(",")}}`;
}

const special = /[\\"]/;
const specials = /[\\"]/g;

/** One item, quoted or not, and what ends or nests arrays. Bounds such as `[0:1]=` before the first brace are passed over. */
const token = /"((?:[^"\\]|\\[^])*)"|([{},])|([^{},"]+)/g;

function parseArray(text: string, parse: (item: string) => unknown): unknown[] {
  const root: unknown[] = [];
  const open: unknown[][] = [root];
  for (const [, quoted, mark, plain] of text.slice(text.indexOf("{")).matchAll(token)) {
    const current = open.at(-1) ?? root;
    if (mark === "{") {
      const nested: unknown[] = [];
      current.push(nested);
      open.push(nested);
    } else if (mark === "}") open.pop();
    else if (quoted !== undefined) current.push(parse(quoted.replaceAll(/\\([^])/g, "$1")));
    else if (plain !== undefined) current.push(plain === "NULL" ? null : parse(plain));
  }
  return root[0] as unknown[];
}
