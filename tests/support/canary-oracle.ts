import type { Sql } from "@countersign/db/connect.ts";

/** A text that something of ours wrote or sent, and where it was found. */
export interface Trace {
  readonly where: string;
  readonly text: string;
}

/** A value that may be nowhere, under a word for it. */
export interface Canary {
  readonly name: string;
  readonly value: string;
}

/**
 * Every form in which a value is looked for, by the form's name. Written without a look at what the product looks for, so
 * that what is missing there is found here.
 */
export function formsOf(value: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(value, "utf8");
  const escaped = JSON.stringify(value).slice(1, -1);
  const forms = new Map([
    ["raw", value],
    ["JSON", escaped],
    ["JSON in JSON", JSON.stringify(escaped).slice(1, -1)],
    ["URL", encodeURIComponent(value)],
    ["form", new URLSearchParams({ v: value }).toString().slice(2)],
    ["hex", bytes.toString("hex")],
    ["HEX", bytes.toString("hex").toUpperCase()],
  ]);
  for (const before of [0, 1, 2]) {
    const core = base64At(bytes, before);
    forms.set(`base64 at ${before}`, core);
    forms.set(`base64url at ${before}`, core.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}

/** What two encodings have in common whose bytes around the value differ: that is what depends on the value alone. */
function base64At(bytes: Buffer, before: number): string {
  const [one = "", other = ""] = [0x00, 0xff].map((around) =>
    Buffer.concat([Buffer.alloc(before, around), bytes, Buffer.alloc(3, around)]).toString("base64"),
  );
  let from = 0;
  while (one[from] !== other[from]) from += 1;
  let to = from;
  while (one[to] === other[to] && to < one.length) to += 1;
  return one.slice(from, to);
}

/** Where canaries lie, and in which form. Texts that are JSON are also searched inside, however deep the one lies in the other. */
export function findLeaks(canaries: readonly Canary[], traces: readonly Trace[]): string[] {
  const needles = canaries.flatMap(({ name, value }) =>
    [...formsOf(value)].map(([form, text]) => ({ name, form, text })),
  );
  const leaks = new Set<string>();
  for (const { where, text } of traces) {
    for (const part of [text, ...innerTexts(text)]) {
      for (const needle of needles)
        if (part.includes(needle.text)) leaks.add(`${needle.name}, ${needle.form}: ${where}`);
    }
  }
  return [...leaks].toSorted();
}

/** Every string inside a text that is JSON, and inside those, in turn. */
function innerTexts(text: string): string[] {
  if (!/^\s*["[{]/.test(text)) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  return stringsIn(parsed).flatMap((inner) => [inner, ...innerTexts(inner)]);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
}

/** Every value of every text, JSON and bytea column of every table. */
export async function readEveryColumn(sql: Sql): Promise<Trace[]> {
  const columns = await sql<{ table: string; column: string; type: string }[]>`
    select c.table_name as table, c.column_name as column, c.udt_name as type
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and c.udt_name in ('text', 'varchar', 'bpchar', 'name', 'json', 'jsonb', 'xml', 'bytea', '_text', '_varchar', '_json', '_jsonb')`;
  const traces: Trace[] = [];
  for (const { table, column, type } of columns) {
    const where = `${table}.${column}`;
    const [name, from] = [sql(column), sql(table)];
    if (type === "bytea") {
      const rows = await sql<{ value: Buffer }[]>`select ${name} as value from ${from} where ${name} is not null`;
      for (const { value } of rows)
        for (const encoding of ["utf8", "latin1", "utf16le"] as const)
          traces.push({ where, text: value.toString(encoding) });
    } else {
      const rows = await sql<{ value: string }[]>`select ${name}::text as value from ${from} where ${name} is not null`;
      traces.push(...rows.map(({ value }) => ({ where, text: value })));
    }
  }
  return traces;
}
