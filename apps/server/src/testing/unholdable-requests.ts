import { goodBody, type Operation } from "./operations.ts";

/** A part of a body, as OpenAPI describes it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** What JSON can say and PostgreSQL or JavaScript cannot hold: characters, moments, and numbers of a column or a span. */
const texts = [
  "a\0b",
  "a\ud800b",
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00+14:00",
  "9999-12-31T23:59:59-14:00",
] as const;
const numbers = [2 ** 31, Number.MAX_SAFE_INTEGER] as const;

/** The good body of a route, time and again, each time with something unholdable in another of the places it can have. */
export function unholdableBodies(operation: Operation, schemas: Schemas, id: string): readonly object[] {
  if (operation.body === undefined) return [];
  return [...spoil(goodBody(operation, id), operation.body, schemas)].filter((body) => typeof body === "object");
}

/** What may stand in the query of a route, each with everything unholdable. */
export function unholdableQueries({ query }: Operation): readonly (readonly [name: string, value: string])[] {
  const known = query.filter(({ name }) => name !== "wait");
  return known.flatMap(({ name }) => [...texts, ...numbers].map((value) => [name, String(value)] as const));
}

function* spoil(value: unknown, written: Schema, schemas: Schemas): Generator<object | string | number> {
  const schema = resolve(written, schemas);
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (branches !== undefined) {
    for (const branch of branches) yield* spoil(value, branch, schemas);
  } else if (Array.isArray(value) || schema.items !== undefined) {
    const items: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [undefined];
    for (const [n, item] of items.entries())
      for (const spoiled of spoil(item, schema.items ?? {}, schemas)) yield items.with(n, spoiled);
  } else if (isRecord(value) || schema.properties !== undefined || isRecord(schema.additionalProperties)) {
    yield* spoilRecord(value, schema, schemas);
  } else if (schema.enum === undefined && schema.const === undefined) {
    const type = schema.type ?? typeof value;
    if (type.includes("string")) yield* texts;
    if (type.includes("number") || type.includes("integer")) yield* numbers;
  }
}

function* spoilRecord(value: unknown, schema: Schema, schemas: Schemas): Generator<object> {
  const good = isRecord(value) && fits(value, schema, schemas) ? value : sampleRecord(schema, schemas);
  const { properties = {}, additionalProperties } = schema;
  for (const key of new Set([...Object.keys(properties), ...Object.keys(good)])) {
    const own = properties[key] ?? (isRecord(additionalProperties) ? additionalProperties : {});
    for (const spoiled of spoil(good[key], own, schemas)) yield { ...good, [key]: spoiled };
  }
  if (additionalProperties === undefined || additionalProperties === false) return;
  const some = Object.values(good)[0] ?? (isRecord(additionalProperties) ? sample(additionalProperties, schemas) : "x");
  for (const text of texts) yield { ...good, [text]: some };
}

/** Whether it is of this kind, where kinds are told apart by a word. */
function fits(value: Readonly<Record<string, unknown>>, { properties = {} }: Schema, schemas: Schemas): boolean {
  return Object.entries(properties).every(([key, written]) => {
    const words = wordsOf(resolve(written, schemas));
    return !(key in value) || words === undefined || words.includes(value[key]);
  });
}

function sampleRecord({ properties = {}, required = [] }: Schema, schemas: Schemas): Record<string, unknown> {
  return Object.fromEntries(required.map((key) => [key, sample(properties[key] ?? {}, schemas)]));
}

/** The least that it takes. */
function sample(written: Schema, schemas: Schemas): unknown {
  const schema = resolve(written, schemas);
  const [branch] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (branch !== undefined) return sample(branch, schemas);
  const words = wordsOf(schema);
  if (words !== undefined) return words[0];
  if (schema.items !== undefined) return [sample(schema.items, schemas)];
  if (schema.properties !== undefined) return sampleRecord(schema, schemas);
  const type = schema.type ?? "object";
  if (type.includes("string")) {
    if (schema.format === "uuid") return "00000000-0000-4000-8000-000000000000";
    return schema.format === "date-time" ? "2040-01-01T00:00:00Z" : "x";
  }
  if (type.includes("number") || type.includes("integer")) return Math.max(schema.minimum ?? 1, 1);
  return type.includes("boolean") ? false : {};
}

function wordsOf(schema: Schema): readonly unknown[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
}

function resolve(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  return resolve(schemas[schema.$ref.slice("#/components/schemas/".length)] ?? {}, schemas);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
