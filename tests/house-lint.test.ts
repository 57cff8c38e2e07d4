import { describe, expect, test } from "vitest";
import { lintPlanted } from "./support/lint.ts";

/** Which packages each room may import; what is not listed is forbidden. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  "packages/db": [],
  "packages/gate": [],
  "packages/engine": ["db", "gate"],
  "packages/broker": ["db"],
  "packages/kb": ["db"],
  "packages/model": ["engine"],
  "packages/ops": ["db"],
  "packages/tools": ["db", "gate", "engine", "broker", "kb", "ops"],
  "apps/server": ["db", "gate", "engine", "broker", "kb", "ops", "tools"],
  "apps/worker": ["db", "gate", "engine", "broker", "kb", "model", "ops", "tools"],
  "apps/cli": ["server"],
  "apps/web": [],
};
const everyPackage = Object.keys(arrows).map((room) => room.split("/")[1] ?? "");

const planted = new Map<string, string>();

/** Plants a file and says where. */
function plant(path: string, text: string): string {
  planted.set(path, text);
  return path;
}

const importOf = (from: string) => `import { thing } from "${from}";\n\nexport const used = thing;\n`;

const crossings = Object.entries(arrows).flatMap(([room, allowed]) =>
  everyPackage
    .filter((other) => room.split("/")[1] !== other)
    .map((other) => ({
      room,
      other,
      isAllowed: allowed.includes(other),
      path: plant(`${room}/src/to-${other}.ts`, importOf(`@countersign/${other}/thing.ts`)),
    })),
);

const rule = { imports: "eslint(no-restricted-imports)", properties: "eslint(no-restricted-properties)" };

const violations = [
  {
    title: "a re-export that goes against the arrows",
    code: rule.imports,
    path: plant("packages/gate/src/re-export.ts", 'export { connect } from "@countersign/db/connect.ts";\n'),
  },
  {
    title: "a type that goes against the arrows",
    code: rule.imports,
    path: plant("packages/gate/src/type.ts", 'export type { Sql } from "@countersign/db/connect.ts";\n'),
  },
  {
    title: "a relative path out of a package",
    code: rule.imports,
    path: plant("packages/kb/src/relative.ts", importOf("../../db/src/connect.ts")),
  },
  {
    title: "a relative path two folders up within a package",
    code: rule.imports,
    path: plant("packages/kb/src/a/b/relative.ts", importOf("../../scope.ts")),
  },
  ...["packages/tools", "apps/server"].flatMap((room) =>
    [
      "open",
      "handles",
      "keyring",
      "boot-check-keys",
      "rotate-keys",
      "run-scrubber",
      "seed-from-environment",
      "audit-key",
      "seal-audit",
    ].map((file) => ({
      title: `what opens secrets, broker/${file}.ts, in ${room}`,
      code: rule.imports,
      path: plant(`${room}/src/with-${file}.ts`, importOf(`@countersign/broker/${file}.ts`)),
    })),
  ),
  ...["open", "handles", "run-scrubber", "seal-audit"].map((file) => ({
    title: `the command line doing on its own machine what the worker does with broker/${file}.ts`,
    code: rule.imports,
    path: plant(`apps/cli/src/local/with-${file}.ts`, importOf(`@countersign/broker/${file}.ts`)),
  })),
  {
    title: "the environment read outside a config.ts",
    code: "node(no-process-env)",
    path: plant("apps/worker/src/environment.ts", 'export const url = process.env["DATABASE_URL"];\n'),
  },
  {
    title: "the environment imported",
    code: rule.imports,
    path: plant(
      "apps/worker/src/environment-import.ts",
      'import { env } from "node:process";\n\nexport const all = env;\n',
    ),
  },
  {
    title: "the driver's own begin",
    code: rule.properties,
    path: plant(
      "packages/kb/src/begin.ts",
      'import type { Sql } from "@countersign/db/connect.ts";\n\nexport const write = (sql: Sql) => sql.begin((tx) => tx`select 1`);\n',
    ),
  },
  {
    title: "drizzle's own transaction",
    code: rule.properties,
    path: plant(
      "packages/kb/src/drizzle.ts",
      'import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";\n\nexport const write = (orm: PostgresJsDatabase) => orm.transaction(async () => 1);\n',
    ),
  },
  {
    title: "a promise that nobody awaits",
    code: "typescript(no-floating-promises)",
    path: plant("packages/kb/src/floating.ts", "export function go(work: () => Promise<void>): void {\n  work();\n}\n"),
  },
  {
    title: "a query, which is a thenable, that nobody awaits",
    code: "typescript(no-floating-promises)",
    path: plant(
      "packages/kb/src/thenable.ts",
      'import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";\nimport { sql } from "drizzle-orm";\n\nexport function go(orm: PostgresJsDatabase): void {\n  orm.select({ one: sql`1` });\n  orm.execute(sql`select 1`);\n}\n',
    ),
  },
  {
    title: "a promise where a truth value belongs",
    code: "typescript(no-misused-promises)",
    path: plant(
      "packages/kb/src/misused.ts",
      "export function go(isReady: () => Promise<boolean>): number {\n  return isReady() ? 1 : 0;\n}\n",
    ),
  },
  {
    title: "an await of what is no promise",
    code: "typescript(await-thenable)",
    path: plant(
      "packages/kb/src/await.ts",
      "export async function go(n: number): Promise<number> {\n  return await n;\n}\n",
    ),
  },
  {
    title: "any",
    code: "typescript(no-explicit-any)",
    path: plant("packages/kb/src/any.ts", "export const thing: any = 1;\n"),
  },
  {
    title: "files that import each other",
    code: "import(no-cycle)",
    path: plant(
      "packages/kb/src/hen.ts",
      'import { egg } from "./egg.ts";\n\nexport const hen = (): unknown => egg;\n',
    ),
  },
  {
    title: "a file of more than 400 lines",
    code: "eslint(max-lines)",
    path: plant("packages/kb/src/long.ts", `export const thing = 1;\n${"// A line.\n".repeat(400)}`),
  },
];
plant("packages/kb/src/egg.ts", 'import { hen } from "./hen.ts";\n\nexport const egg = (): unknown => hen;\n');

const permissions = [
  ...["db", "engine", "broker", "kb"].map((other) => ({
    title: `what the command line does on its own machine uses ${other}`,
    path: plant(`apps/cli/src/local/to-${other}.ts`, importOf(`@countersign/${other}/thing.ts`)),
  })),
  {
    title: "the worker opens secrets",
    path: plant("apps/worker/src/open.ts", importOf("@countersign/broker/open.ts")),
  },
  {
    title: "a tool knows the type of a handle",
    path: plant("packages/tools/src/handle.ts", 'export type { Handle } from "@countersign/broker/handles.ts";\n'),
  },
  {
    title: "the server seals secrets",
    path: plant("apps/server/src/seal.ts", importOf("@countersign/broker/seal.ts")),
  },
  {
    title: "the broker opens secrets",
    path: plant("packages/broker/src/use-open.ts", importOf("./open.ts")),
  },
  {
    title: "a config.ts reads the environment",
    path: plant("apps/worker/src/config.ts", 'export const url = process.env["DATABASE_URL"];\n'),
  },
  {
    title: "a test may be long",
    path: plant("packages/kb/src/long.test.ts", `export const thing = 1;\n${"// A line.\n".repeat(400)}`),
  },
];

const findings = lintPlanted(planted);
const codesIn = (path: string) => findings.filter(({ filename }) => filename === path).map(({ code }) => code);

describe("the linter catches", () => {
  test.each(violations)("$title", ({ path, code }) => {
    expect(codesIn(path)).toContain(code);
  });

  test.each(crossings.filter(({ isAllowed }) => !isAllowed))("$room importing $other", ({ path }) => {
    expect(codesIn(path)).toEqual([rule.imports]);
  });
});

describe("the linter permits that", () => {
  test.each(permissions)("$title", ({ path }) => {
    expect(codesIn(path)).toEqual([]);
  });

  test.each(crossings.filter(({ isAllowed }) => isAllowed))("$room imports $other", ({ path }) => {
    expect(codesIn(path)).toEqual([]);
  });
});
